# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""Write the texts of nvd-cpe, CVEs and the products that they concern, in the order of their dates: a natural stream.

    python benchmarks/streams/nvd_by_date.py nvd-by-date.jsonl
    oplt progressive nvd-by-date.jsonl --every 10000

Reads, from $OPLT_DATA/nvd-cpe, train.jsonl.xz and train_order_chrono.txt, whose lines are the numbers, from 0, of the
train rows by ascending date.
"""

from __future__ import annotations

import argparse
import lzma
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
import data


def main() -> None:
    """Write the stream."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path, help="file to write")
    out = parser.parse_args().out
    folder = data.folder() / "nvd-cpe"
    with lzma.open(folder / "train.jsonl.xz") as file:
        lines = file.readlines()
    order = [int(number) for number in (folder / "train_order_chrono.txt").read_text().split()]
    if sorted(order) != list(range(len(lines))):
        msg = f"{folder}: the order must name each of the {len(lines)} examples once, but has {len(order)} numbers"
        raise SystemExit(msg)
    with out.open("wb") as file:
        file.writelines(lines[number] for number in order)
    print(f"Wrote {len(lines):,} examples to {out}.")


if __name__ == "__main__":
    main()
