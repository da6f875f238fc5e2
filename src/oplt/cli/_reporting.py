# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""Reports of progressive validation: a live display on a terminal, lines elsewhere, or JSON."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Protocol

import click

from oplt.cli._console import console, is_quiet, note, print_json
from oplt.cli._plot import plot
from oplt.cli._progress import bytes_as_text

if TYPE_CHECKING:
    from types import TracebackType

    from rich.console import Group
    from typing_extensions import Self

    from oplt.reports import Bucket, Report

__all__ = ["Pace", "Reporter", "reporter"]

_AGES = ((0, 1), (1, 16), (16, 256), (256, 4096), (4096, None))


@dataclass(frozen=True)
class Pace:
    """Progress of the evaluation."""

    n_examples: int
    seconds: float  # spent on these examples
    share: float | None  # of the data that has been processed; None if unknown
    memory: int  # bytes of the model

    @property
    def speed(self) -> float:
        """Examples per second."""
        return self.n_examples / max(self.seconds, 1e-9)

    def __str__(self) -> str:
        words = [f"{self.speed:,.0f} examples/s", f"{bytes_as_text(self.memory)} of memory"]
        if self.share:
            left = round(self.seconds * (1 - self.share) / self.share)
            words.append(f"{self.share:.0%} of the data, {left // 60}:{left % 60:02} left")
        return ", ".join(words)


class Reporter(Protocol):
    """Shows reports as they are produced."""

    def __enter__(self) -> Self:
        """Start the display."""

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End the display."""

    def show(self, report: Report, pace: Pace) -> None:
        """Show a report and the progress."""


def reporter(*, as_json: bool, window: int) -> Reporter:
    """Choose how to show reports: a live display on a terminal, lines elsewhere, or JSON."""
    if as_json:
        return _Json()
    if sys.stdout.isatty() and not console().is_dumb_terminal and not is_quiet():
        return _Picture(window)
    return _Lines(window)


class _Plain:
    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass


class _Json(_Plain):
    def show(self, report: Report, pace: Pace) -> None:
        print_json({**asdict(report), "examples_per_second": round(pace.speed, 1), "memory_bytes": pace.memory})


class _Lines(_Plain):
    def __init__(self, window: int) -> None:
        self._window = window
        self._begun = False

    def show(self, report: Report, pace: Pace) -> None:
        if not self._begun:
            note("(tail, torso, head: recall on rare, medium-frequency and frequent labels)")
            names = ("examples", "labels", "P@1", f"P@1 of {self._window:,}", "new labels", "tail", "torso", "head")
            click.echo("  ".join(f"{name:>{_width(name)}}" for name in (*names, "examples/s")))
            self._begun = True
        recalls = [_share(bucket.recall) for bucket in (report.tail, report.torso, report.head)]
        cells = {
            "examples": f"{report.n_examples:,}",
            "labels": f"{report.n_labels:,}",
            "P@1": f"{report.total['P@1']:.4f}",
            f"P@1 of {self._window:,}": f"{report.window['P@1']:.4f}",
            "new labels": f"{report.window_new_labels:.3f}",
            **dict(zip(("tail", "torso", "head"), recalls, strict=True)),
            "examples/s": f"{pace.speed:,.0f}",
        }
        click.echo("  ".join(f"{cell:>{_width(name)}}" for name, cell in cells.items()))


def _width(name: str) -> int:
    return max(len(name), {"examples": 11, "labels": 9, "P@1": 6}.get(name, 5))


class _Picture:
    """Metrics, buckets and a curve, redrawn for each report. The last one stays on the screen."""

    def __init__(self, window: int) -> None:
        from rich.live import Live

        self._window = window
        self._curve: list[float] = []
        self._live = Live(console=console(), auto_refresh=False, vertical_overflow="visible")

    def __enter__(self) -> Self:
        self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._live.stop()

    def show(self, report: Report, pace: Pace) -> None:
        self._curve.append(report.window["P@1"])
        self._live.update(self._drawn(report, pace), refresh=True)

    def _drawn(self, report: Report, pace: Pace) -> Group:
        from rich.columns import Columns
        from rich.console import Group
        from rich.text import Text

        counts = f"{report.n_examples:,} examples, {report.n_labels:,} labels, {pace}"
        born = f"New labels per example: {report.new_labels:.3f}; in the last {self._window:,}: "
        tables = Columns([self._measures(report), _by_frequency(report), _by_age(report)], padding=(0, 4))
        curve = [Text(line) for line in plot(self._curve)]
        title = Text(f"P@1 over the last {self._window:,} examples, from the first report to the last")
        return Group(Text(counts), tables, Text(f"{born}{report.window_new_labels:.3f}"), title, *curve)

    def _measures(self, report: Report) -> Any:
        at_k = [name for name in report.total if name.startswith("P@")]
        last = at_k[-1].removeprefix("P@")
        shown = [*at_k, f"R@{last}", f"nDCG@{last}"]
        rows = [(name, f"{report.total[name]:.4f}", f"{report.window[name]:.4f}") for name in shown]
        return _table(["", "all", f"last {self._window:,}"], rows)


def _by_frequency(report: Report) -> Any:
    buckets = {"tail": report.tail, "torso": report.torso, "head": report.head}
    rows = [
        (f"{name} ({_range(bucket)})", _share(bucket.recall), _share(bucket.precision))
        for name, bucket in buckets.items()
    ]
    return _table(["labels by frequency", "recall", "precision"], rows)


def _by_age(report: Report) -> Any:
    rows = []
    for low, high in _AGES:
        inside = [bucket for bucket in report.by_age if bucket.low >= low and (high is None or bucket.low < high)]
        n_true = sum(bucket.n_true for bucket in inside)
        recall = sum(bucket.n_hits for bucket in inside) / n_true if n_true else math.nan
        rows.append(
            (
                f"{low:,}" if high == low + 1 else f"{low:,} to {high - 1:,}" if high else f"{low:,} or more",
                _share(recall),
            )
        )
    return _table(["age of label", "recall"], rows)


def _range(bucket: Bucket) -> str:
    return f"{bucket.low} times or more" if bucket.high is None else f"{bucket.low} to {bucket.high - 1} times"


def _share(value: float) -> str:
    return "-" if math.isnan(value) else f"{value:.3f}"


def _table(names: list[str], rows: Sequence[tuple[str, ...]]) -> Any:
    from rich.table import Table

    table = Table(*names, box=None, pad_edge=False)
    for column in table.columns[1:]:
        column.justify = "right"
    for row in rows:
        table.add_row(*row)
    return table
