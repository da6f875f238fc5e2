# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""Compare a grown tree with the tree of a taxonomy that the names of labels spell out: `a:vendor:product`.

    python benchmarks/streams/nvd_by_date.py nvd-by-date.jsonl
    python benchmarks/beyond/taxonomy.py nvd-by-date.jsonl --rows 20000

Each example is predicted before it is learned. The taxonomy knows all labels from the beginning, which a real stream
does not.
"""

from __future__ import annotations

import argparse
import time
from itertools import islice
from pathlib import Path

from oplt import LabelTree, OnlinePLT, files
from oplt.evaluate import progressive
from oplt.tree import from_parents


def taxonomy(labels: set[str]) -> LabelTree:
    """Make a tree whose inner nodes are the beginnings of names: `a`, then `a:vendor`."""
    parents: dict[str, str | None] = {}
    for label in sorted(labels):
        parts = label.split(":")
        names = [":".join(parts[: i + 1]) for i in range(len(parts))]
        parents |= dict(zip(names, [None, *names[:-1]], strict=True))
    return from_parents(parents, labels=labels)


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, help="texts with labels, as JSON lines")
    parser.add_argument("--rows", type=int, default=20_000)
    args = parser.parse_args()
    stream = list(islice(files.read(args.data).examples(), args.rows))
    tree = taxonomy({str(label) for _, labels, _ in stream for label in labels})
    widest = max(len(tree.children(node)) for node in range(tree.n_nodes) if tree.labels[node] is None)
    print(f"taxonomy: {tree.n_labels:,} labels, depth {tree.depth}, the widest node has {widest:,} children")
    print("| tree | memory | P@1 / P@3 / P@5 | CPU s |\n|---|---|---|---|")
    for memory in (512, 0):
        settings = {"features": "text", "label_memory": memory}
        models = {"grown": OnlinePLT(**settings), "taxonomy": OnlinePLT.from_tree(tree, **settings)}
        for name, model in models.items():
            started = time.process_time()
            *_, report = progressive(model, stream, every=args.rows)
            figures = " / ".join(f"{100 * report.total[f'P@{k}']:.1f}" for k in (1, 3, 5))
            print(f"| {name} | {memory} | {figures} | {time.process_time() - started:.0f} |", flush=True)


if __name__ == "__main__":
    main()
