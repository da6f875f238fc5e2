# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""Watch a model learn which products a vulnerability report (CVE) is about, while new products keep appearing.

    python examples/cve_stream.py                                  # on reports that the script makes
    python examples/cve_stream.py nvdcve-2.0-*.json.gz             # on feeds of nvd.nist.gov, one for each year
    python examples/cve_stream.py reports.jsonl                    # {"text": ..., "labels": [...]}, from old to new

Each report is predicted before it is learned, so the first curve shows the precision on unseen reports.
"""

import argparse
import gzip
import json
import random
import re
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any

from rich.console import Group
from rich.live import Live
from rich.panel import Panel

from oplt import OnlinePLT, files
from oplt.evaluate import progressive

WIDTH, HEIGHT = 72, 7  # of a curve, in characters
FLAWS = "heap overflow", "script injection", "path traversal", "race condition", "use after free"


def make_reports(n: int = 4000) -> Iterator[tuple[str, list[str]]]:
    """Make reports on more and more products, some of which are much more frequent than others."""
    rng, products = random.Random(1), []
    for number in range(n):
        is_wave = 0.5 < number / n < 0.6  # in which many new products come at a time
        if not products or rng.random() < (0.5 if is_wave else 0.05):
            products.append(["".join(rng.choices(["ka", "lo", "mir", "ten", "vu", "sys"], k=3)) for _ in range(2)])
        vendor, product = products[-1 if is_wave else int(len(products) * rng.random() ** 3)]
        text = f"A {rng.choice(FLAWS)} in {vendor} {product} {rng.randrange(99)} lets remote attackers run code."
        yield text, [f"a:{vendor}:{product}"]


def read_nvd(paths: list[Path]) -> Iterator[tuple[str, list[str]]]:
    """Read feeds of the National Vulnerability Database, in the order of the dates of publication."""
    feeds = [json.loads(gzip.decompress(path.read_bytes())) for path in paths]
    cves = [entry["cve"] for feed in feeds for entry in feed["vulnerabilities"]]
    for cve in sorted(cves, key=lambda cve: cve["published"]):
        nodes = [node for configuration in cve.get("configurations", []) for node in configuration["nodes"]]
        names = {match["criteria"] for node in nodes for match in node["cpeMatch"] if match["vulnerable"]}
        products = {":".join(re.split(r"(?<!\\):", name)[2:5]) for name in names}  # of cpe:2.3:a:vendor:product:...
        if products:
            yield cve["descriptions"][0]["value"], sorted(products)


def curve(values: list[float], top: float, title: str) -> Panel:
    """Draw values from 0 to `top` as columns. If there are too many of them, some are left out."""
    shown = range(0, len(values) * WIDTH, max(len(values), WIDTH))
    heights = [HEIGHT * values[place // WIDTH] / top for place in shown]
    rows = ["".join(" ▁▂▃▄▅▆▇█"[round(8 * min(max(h - row, 0), 1))] for h in heights) for row in range(HEIGHT)]
    return Panel("\n".join(reversed(rows)), title=title, title_align="left", width=WIDTH + 4)


parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("files", nargs="*", type=Path, metavar="FILE")
paths = parser.parse_args().files
stream: Any = make_reports()
if paths:
    is_feed = paths[0].name.endswith(".json.gz")
    stream = read_nvd(paths) if is_feed else chain.from_iterable(files.read(path).examples() for path in paths)

precisions, counts = [], []
with Live() as live:
    for report in progressive(OnlinePLT(features="text"), stream, k=1, every=50, window=500):
        precisions.append(report.window["P@1"])
        counts.append(report.n_labels)
        title = f"{report.n_examples:,} reports, P@1 {report.total['P@1']:.2f}, of the last 500 {precisions[-1]:.2f}"
        live.update(Group(curve(precisions, 1, title), curve(counts, counts[-1], f"{counts[-1]:,} products")))
