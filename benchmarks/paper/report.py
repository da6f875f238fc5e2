# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""Tables in Markdown: our figures beside those that the paper reports for its data sets."""

from __future__ import annotations

from collections.abc import Iterable
from statistics import mean, stdev

from experiments import TABLES, Table, published
from runs import Runs

HEAD = """# The tables of the paper

Our figures: mean ± standard deviation over seeds, each with its own order of the training examples; one thread, the
settings of the paper. Precision, propensity-scored precision and accuracy are in per cent. Below each table stand the
figures of the paper, on its own data sets and machine: orderings can be compared, numbers cannot. R is the random
policy, B best-greedy; p counts passes, w is the share of the examples that is the sample of a warm start. Table 4, say,
comes from `make paper TABLES=4 DATA="bibtex delicious"`, figure 2 from `make paper FIGURE=1`, all from `make paper`."""
DIGITS = {"train s": 1, "test ms": 3, "depth": 1}


def table(number: int, data: Iterable[str], runs: Runs) -> str:
    """One table of the paper."""
    wanted = TABLES[number]
    parts = [f"## Table {number}. {wanted.title}"]
    parts += [measured(name, wanted, runs) for name in data if any(runs.of(name, s) for s in wanted.systems)]
    parts.append(in_paper(number, wanted))
    return "\n\n".join(parts)


def measured(name: str, wanted: Table, runs: Runs) -> str:
    """Our figures on one data set: mean ± standard deviation over the seeds."""
    rows, most = [], 0
    for system in wanted.systems:
        found = runs.of(name, system)
        most = max(most, len(found))
        if found:
            rows.append([str(system), *(spread([run.get(m) for run in found], m) for m in wanted.measures)])
    seeds = f"{most} seed{'s' if most != 1 else ''}"
    return f"### {name} ({seeds})\n\n{markdown(['system', *wanted.measures], rows)}"


def spread(values: list[float | None], measure: str) -> str:
    """Mean ± standard deviation; a dash where a system does not report it."""
    known = [value for value in values if value is not None]
    if not known:
        return "–"
    digits = DIGITS.get(measure, 2)
    around = f" ± {stdev(known):.{digits}f}" if len(known) > 1 else ""
    return f"{mean(known):.{digits}f}{around}"


def in_paper(number: int, wanted: Table) -> str:
    """Lay out the figures of the paper like ours."""
    cells: dict[tuple[str, str], dict[str, str]] = {}
    for figure in published():
        if figure["table"] == str(number):
            row = (figure["data"], f"{figure['system']} {figure['setting']}".strip())
            cells.setdefault(row, {})[figure["measure"]] = figure["value"]
    order = list(dict.fromkeys(data for data, _ in cells))  # data set by data set
    by_data = sorted(cells.items(), key=lambda item: order.index(item[0][0]))
    rows = [[data, system, *(row.get(m, "–") for m in wanted.measures)] for (data, system), row in by_data]
    return f"### In the paper\n\n{markdown(['data', 'system', *wanted.measures], rows)}"


def markdown(head: list[str], rows: list[list[str]]) -> str:
    """Lay out a table."""
    return "\n".join(f"| {' | '.join(row)} |" for row in [head, ["---"] * len(head), *rows])
