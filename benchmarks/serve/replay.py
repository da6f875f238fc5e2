# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""Compare the speed of recovery, which replays a journal, with that of `learn_many` on the same examples.

OPLT_DATA=... python benchmarks/serve/replay.py nvd-cpe
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

from load import as_examples

from oplt import OnlinePLT
from oplt.service.examples import Example, encode
from oplt.service.folder import start_empty
from oplt.service.journal import Journal, NewRecord
from oplt.service.served_model import ServedModel

sys.path.append(str(Path(__file__).parents[1]))
from data import load, part


def main() -> None:
    """Fill a journal, then learn it in both ways."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("data")
    arguments = parser.parse_args()
    X, Y = load(part(arguments.data, "train"))
    examples = [Example(features=one["features"], labels=one["labels"]) for one in as_examples(X, Y)]
    n = len(examples)
    with tempfile.TemporaryDirectory() as folder:
        path = start_empty(Path(folder) / "m.oplt", texts=False)
        journal = Journal(path / "journal.sqlite")
        begin = time.perf_counter()
        for i in range(0, n, 500):
            journal.append([NewRecord("learn", encode(one)) for one in examples[i : i + 500]]).result()
        print(f"journal: {n / (time.perf_counter() - begin):.0f} examples/s appended, in groups of 500")
        journal.close()
        twin = OnlinePLT()
        begin = time.perf_counter()
        twin.learn_many(X, Y)
        learned = n / (time.perf_counter() - begin)
        print(f"learn_many: {learned:.0f} examples/s", flush=True)
        begin = time.perf_counter()
        served = ServedModel(path)
        while not served.is_ready:
            time.sleep(0.01)
        replayed = n / (time.perf_counter() - begin)
        print(f"replay: {replayed:.0f} examples/s, {100 * replayed / learned:.0f} % of learn_many")
        print("equal fingerprints:", served.model.fingerprint() == twin.fingerprint())
        served.close(snapshot=False)


if __name__ == "__main__":
    main()
