# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""Precision for labels before their first example, if they are described by their names.

The training set of nvd-cpe is learned in chronological order; each example is predicted before it is learned. Once, no
label is known before its first example; once, all labels are added ahead of the stream, each described by the words of
its name ("o:linux:linux_kernel": "linux linux kernel"). Prints, of the examples with a label that is new, the share in
which the best label, or one of the best five, is a new one, and progressive P@1 over all examples. Data: nvd-cpe, found
through OPLT_DATA.
"""

from __future__ import annotations

import argparse
import json
import lzma
import re
import sys
from pathlib import Path

from oplt import OnlinePLT

sys.path.insert(0, str(Path(__file__).parents[1]))
import data


def description(label: str) -> str:
    """Return the words of a product's name."""
    return re.sub(r"[^\w.]+|_", " ", label.partition(":")[2])


def stream(folder: Path) -> list[tuple[str, list[str]]]:
    """Read the texts and their labels by date."""
    with lzma.open(folder / "train.jsonl.xz", "rt", encoding="utf-8") as file:
        lines = [json.loads(line) for line in file]
    order = [int(number) for number in (folder / "train_order_chrono.txt").read_text().split()]
    return [(lines[i]["text"], lines[i]["labels"]) for i in order]


def run(examples: list[tuple[str, list[str]]], *, described: bool) -> dict[str, float]:
    """Learn the stream, perhaps after all labels have been described."""
    model = OnlinePLT(features="text")
    if described:
        for label in sorted({label for _, labels in examples for label in labels}):
            model.labels.add(label, text=description(label))
    known: set[str] = set()
    n_new = first_right = first_in_five = right = 0
    for text, labels in examples:
        new = {label for label in labels if label not in known}
        found = [label for label, _ in model.predict_one(text, k=5)]
        right += bool(found) and found[0] in labels
        if new:
            n_new += 1
            first_right += bool(found) and found[0] in new
            first_in_five += any(label in new for label in found)
        known |= new
        model.learn_one(text, labels)
    return {
        "examples": len(examples),
        "with new labels": n_new,
        "new label first": first_right / n_new,
        "new label in five": first_in_five / n_new,
        "P@1 of all": right / len(examples),
    }


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--n", type=int, help="only the first N examples")
    chosen = parser.parse_args()
    examples = stream(data.folder() / "nvd-cpe")[: chosen.n]
    for described in (False, True):
        found = run(examples, described=described)
        print("with descriptions   " if described else "without descriptions", end="  ")
        print(
            "  ".join(
                f"{name} {value:,}" if isinstance(value, int) else f"{name} {value:.4f}"
                for name, value in found.items()
            )
        )


if __name__ == "__main__":
    main()
