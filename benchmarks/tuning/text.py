# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""The effect of the settings of `TextFeatures`: progressive P@1 of the default model on a stream of texts.

Run: OPLT_DATA=<folder> python benchmarks/tuning/text.py nvd-cpe

Reads <name>/train.jsonl.xz, one JSON object with "text" and "labels" per line, in the order of train_order_chrono.txt,
if it exists. Each text is predicted before it is learnt; the second column is for the second half of the stream.
"""

from __future__ import annotations

import argparse
import json
import lzma
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))
import data

from oplt import OnlinePLT
from oplt.evaluate import progressive
from oplt.text import TextFeatures

VARIANTS: list[dict[str, Any]] = [
    {},
    {"symbols": False},
    {"sublinear": False},
    {"idf": False},
    {"idf": False, "sublinear": False},
    {"ngrams": (1, 2)},
    {"max_features": 2**14},
    {"hash_bits": 14},
]


def load(name: str, n: int | None) -> list[tuple[str, list[str]]]:
    """Read a stream of texts and labels."""
    folder = data.folder() / name
    with lzma.open(folder / "train.jsonl.xz", "rt", encoding="utf-8") as file:
        examples = [(example["text"], example["labels"]) for example in map(json.loads, file)]
    order = folder / "train_order_chrono.txt"
    places = [int(place) for place in order.read_text().split()] if order.is_file() else range(len(examples))
    return [examples[place] for place in places][:n]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name", help="a data set that has raw texts")
    parser.add_argument("--examples", type=int, help="use only the first EXAMPLES examples")
    arguments = parser.parse_args()
    stream = load(arguments.name, arguments.examples)
    half = (len(stream) + 1) // 2
    print("| TextFeatures | P@1 | P@1, later half | features | MB |\n|---|---|---|---|---|")
    for variant in VARIANTS:
        model = OnlinePLT(features=TextFeatures(**variant))
        *_, report = progressive(model, stream, k=1, window=half, every=len(stream))
        settings = ", ".join(f"{name}={value}" for name, value in variant.items()) or "defaults"
        scores = f"{100 * report.total['P@1']:.2f} | {100 * report.window['P@1']:.2f}"
        print(f"| {settings} | {scores} | {model.n_features:,} | {model.memory_bytes / 1e6:.0f} |", flush=True)


if __name__ == "__main__":
    main()
