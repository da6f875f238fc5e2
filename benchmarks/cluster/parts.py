# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""What the router and the shards of a cut model cost, all in this process, and that they make the same model.

Run: python benchmarks/cluster/parts.py [nvd-cpe | <number of labels>] [--shards 1 2 3 7] [--settings label_memory=0]
                                        [--features 40] [--out constants.json]

A data set is found through OPLT_DATA; a number of labels generates a stream with as many examples. Each number of
shards learns the stream again. Times are CPU times of single threads: that of the router is without the shards, and
that of the shards is the sum over all. No network and no Ray is involved; `learning.py` measures both.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from oplt import OnlinePLT, _core, persistence

sys.path += [str(Path(__file__).parents[1] / name) for name in ("", "scaling")]

from data import load, part
from streams import Stream

CHUNK = 16_384
CUT_AFTER = 32_768
N_ASKED = 200  # rows


@dataclass
class Figures:
    """Of one run. Times, bytes and rounds are per example that was learned after the cut."""

    stream: str
    shards: int  # 0: one process, not cut
    fingerprint: str
    labels: int
    examples: int
    router_us: float  # of the whole model, if it was not cut
    router_mb: float  # likewise: with names, label memory and the top of the tree
    tree_mb: float  # of which the tree
    cells: int = 0
    shards_us: float = 0
    message_bytes: float = 0
    rounds: float = 0  # of questions to shards
    predict_rounds: float = 0  # per row
    asked: float = 0  # share of the shards that are asked in a prediction of one row
    largest_shard_mb: float = 0


class LocalShards:
    """The shards of a model, in this process."""

    def __init__(self, model: OnlinePLT, n: int) -> None:
        from oplt.cluster._placing import balanced  # imports Ray, which learning.py must start before

        subtrees = _core.cut(model._core)
        placed = balanced(subtrees.sizes, n)
        self.shards = [_core.Shard(model._settings.to_core()) for _ in placed]
        for shard, positions in zip(self.shards, placed, strict=True):
            shard.add(subtrees.chosen(positions))
        places = {position: number for number, own in enumerate(placed) for position in own}
        self.seconds, self.n_bytes, self.n_rounds, self.n_asked = 0.0, 0, 0, 0
        self._answers: dict[int, bytes] = {}
        self._is_round = False
        _core.route(model._core, [places[i] for i in range(len(places))], self.learn, self.ask, self.fetch)

    def learn(self, shard: int, message: bytes) -> None:
        """Deliver a message."""
        begin = time.process_time()
        self.shards[shard].learn(message, 1)
        self.seconds += time.process_time() - begin
        self.n_bytes += len(message)

    def ask(self, shard: int, query: bytes) -> int:
        """Deliver a query."""
        begin = time.process_time()
        answer = self.shards[shard].search(query)
        self.seconds += time.process_time() - begin
        self.n_asked += 1
        self.n_bytes += len(query) + len(answer)
        self._answers[self.n_asked] = answer
        self._is_round = True
        return self.n_asked

    def fetch(self, due: list[tuple[int, int]]) -> list[bytes]:
        """Return answers. All that were asked before come in the same round."""
        self.n_rounds += self._is_round
        self._is_round = False
        return [self._answers.pop(number) for _, number in due]


def batches(name: str, n_features: int) -> Iterator[tuple[Any, Any]]:
    """Yield the examples of a data set, or of a generated stream."""
    if name.isdigit():
        yield from Stream(int(name), int(name), n_features).batches()
        return
    X, Y = load(part(name, "train"))
    for begin in range(0, X.shape[0], CHUNK):
        yield X[begin : begin + CHUNK], Y[begin : begin + CHUNK]


def run(stream: str, n_shards: int, settings: dict[str, Any], n_features: int) -> Figures:
    """Learn a stream; the model is cut after some examples."""
    model = OnlinePLT(history=0, **settings)
    shards: LocalShards | None = None
    seconds, n_before, last = 0.0, 0, None
    for X, Y in batches(stream, n_features):
        if shards is None and n_shards and model.n_examples >= CUT_AFTER and _core.can_cut(model._core):
            shards, n_before = LocalShards(model, n_shards), model.n_examples
        begin = time.process_time()
        model.learn_many(X, Y)
        seconds += time.process_time() - begin if shards or not n_shards else 0
        last = X
    n = model.n_examples - n_before
    memory = _core.memory_parts(model._core)
    figures = Figures(
        stream=stream,
        shards=n_shards,
        fingerprint="",
        labels=model.n_labels,
        examples=n,
        router_us=1e6 * (seconds - (shards.seconds if shards else 0)) / n,
        router_mb=sum(memory.values()) / 2**20,
        tree_mb=memory["trees"] / 2**20,
    )
    if shards is None:
        return replace(figures, fingerprint=model.fingerprint(), cells=model.n_cells)
    learned = replace(
        figures,
        shards_us=1e6 * shards.seconds / n,
        message_bytes=shards.n_bytes / n,
        rounds=shards.n_rounds / n,
    )
    return ask_and_join(learned, model, shards, last[:N_ASKED])


def ask_and_join(figures: Figures, model: OnlinePLT, shards: LocalShards, rows: Any) -> Figures:
    """Predict rows one at a time, and put the model together."""
    n_rounds, n_asked, n_rows = shards.n_rounds, shards.n_asked, rows.shape[0]
    for i in range(n_rows):
        model.predict_many(rows[i : i + 1], k=5)
    subtrees = [shard.subtrees() for shard in shards.shards]
    whole = _core.joined(model._core.snapshot(), subtrees)
    return replace(
        figures,
        fingerprint=persistence.fingerprint(replace(model._saved(), state=whole)),
        predict_rounds=(shards.n_rounds - n_rounds) / n_rows,
        asked=(shards.n_asked - n_asked) / (shards.n_rounds - n_rounds) / len(shards.shards),
        largest_shard_mb=max(sum(one.memory_bytes.values()) for one in subtrees) / 2**20,
    )


def parsed(pairs: Iterable[str]) -> dict[str, Any]:
    """Read settings such as label_memory=0."""
    return {name: json.loads(value) for name, value in (pair.split("=") for pair in pairs)}


def main() -> None:
    """Run all numbers of shards, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("stream", nargs="?", default="100000")
    parser.add_argument("--shards", nargs="+", type=int, default=[1, 2, 3, 7], help="0: one process, not cut")
    parser.add_argument("--settings", nargs="*", default=[])
    parser.add_argument("--features", type=int, default=40)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    found = []
    for n_shards in options.shards:
        figures = asdict(run(options.stream, n_shards, parsed(options.settings), options.features))
        rounded = {name: round(value, 3) if isinstance(value, float) else value for name, value in figures.items()}
        print(rounded, flush=True)
        found.append(figures)
        if options.out:
            options.out.write_text(json.dumps(found, indent=1) + "\n")
    if len({one["fingerprint"] for one in found}) > 1:
        raise SystemExit("FINGERPRINTS DIFFER")
    print("one fingerprint")


if __name__ == "__main__":
    main()
