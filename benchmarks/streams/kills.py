# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""Kill a consumer of a stream and its broker at random moments under load, and compare it with an undisturbed twin.

    python benchmarks/streams/kills.py --kills 60

A producer adds messages; `oplt learn --from` learns them and saves every 0.05 s. One of the two, or both, are killed
(SIGKILL) and started again. After each kill, the fingerprint of the model file must be that of a twin in this process
that has learned the messages up to the position in the file. At the end, every acknowledged message must have been
learned once. Needs the dependency group `test`; the mock broker of Kafka keeps nothing on disk, so it is killed
together with the consumer, and filled again with what it had acknowledged.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.streams.brokers import BROKERS
from tests.streams.killing import Trial


def main() -> None:
    """Run the kills, and print what was lost."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--kills", type=int, default=60, help="cycles, each with a kill of the consumer or the broker")
    parser.add_argument("--brokers", nargs="*", default=list(BROKERS), choices=list(BROKERS))
    parser.add_argument("--mixed", action="store_true", help="with invalid messages, late labels and predictions")
    parser.add_argument("--longest", type=float, default=0.5, help="seconds before a kill, at most")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    for kind in given.brokers:
        begin = time.perf_counter()
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder)
            trial = Trial(BROKERS[kind](path), path, seed=given.seed, mixed=given.mixed)
            found = trial.run(given.kills, given.longest)
        print(
            f"{kind}: {found.kills_of_consumer} kills of the consumer, {found.kills_of_broker} of the broker,"
            f" {time.perf_counter() - begin:.0f} s; {found.acknowledged} messages acknowledged, {found.n_examples}"
            f" learned, {found.n_refused} refused; {found.unequal} files unequal to the twin, at the end"
            f" {'equal' if found.is_equal else 'UNEQUAL'}; {found.distinct_dead_letters} dead letters,"
            f" {found.distinct_predictions} predictions, {found.repeated_outputs} outputs repeated",
            flush=True,
        )
        if found.unequal or not found.is_equal:
            raise SystemExit("THE MODELS DIFFER")


if __name__ == "__main__":
    main()
