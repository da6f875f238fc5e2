# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""Data to try things on."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from oplt.errors import InvalidParameterError
from oplt.params import count

__all__ = ["make_stream"]

_OWN_WORDS = 4  # of each label
_TOPIC_WORDS = 20  # shared by the labels of a topic
_COMMON_WORDS = 500  # that tell nothing
_LABELS_PER_TOPIC = 10


def make_stream(
    n_examples: int, *, n_labels: int = 1000, labels_per_example: float = 1.5, words_per_label: int = 6, seed: int = 0
) -> Iterator[tuple[dict[str, float], list[str]]]:
    """Generate a stream of documents whose labels and words keep emerging.

    Label frequencies follow Zipf's law; labels are born at random times all along the stream, each with words of its
    own. A document has one label or more, of one topic, and a few words of each, some words of the topic and some that
    tell nothing: what there is to learn can be learnt, but not perfectly.

    Parameters
    ----------
    n_examples
        Length of the stream.
    n_labels
        Labels that there are by its end (rare ones may never occur).
    labels_per_example
        Mean number of labels of an example, at least 1.
    words_per_label
        Words that an example has of each of its labels and their topic.
    seed
        Streams of the same seed are the same.

    Returns
    -------
    An iterator of features (word counts) and labels.

    Examples
    --------
    >>> x, labels = next(make_stream(100, seed=7))
    >>> all(isinstance(word, str) for word in x), len(labels) >= 1
    (True, True)
    """
    count("n_examples", n_examples)
    count("n_labels", n_labels)
    count("words_per_label", words_per_label)
    count("seed", seed, least=0, most=2**64 - 1)
    if not labels_per_example >= 1:
        msg = f"labels_per_example must be at least 1, got {labels_per_example!r}"
        raise InvalidParameterError(msg)
    return _stream(n_examples, n_labels, labels_per_example, words_per_label, np.random.default_rng(seed))


def _stream(
    n_examples: int, n_labels: int, labels_per_example: float, words_per_label: int, rng: np.random.Generator
) -> Iterator[tuple[dict[str, float], list[str]]]:
    n_topics = -(-n_labels // _LABELS_PER_TOPIC)
    zipf = rng.permutation(1.0 / np.arange(1, n_labels + 1))
    cumulated = np.cumsum(zipf)  # labels are numbered in order of birth
    births = np.sort(rng.uniform(0, n_examples, n_labels))
    births[0] = 0
    common = np.cumsum(1.0 / np.arange(1, _COMMON_WORDS + 1))

    for t in range(n_examples):
        n_born = int(np.searchsorted(births, t, side="right"))
        first = int(np.searchsorted(cumulated[:n_born], rng.uniform(0, cumulated[n_born - 1])))
        topic = first % n_topics
        n_extra = rng.poisson(labels_per_example - 1)
        siblings = topic + n_topics * rng.integers(0, -(-(n_born - topic) // n_topics), n_extra)
        labels = dict.fromkeys([first, *siblings.tolist()])  # distinct, in order
        words: list[str] = []
        for label in labels:
            n_own = int(rng.binomial(words_per_label, 0.6))
            words.extend(f"term-{label}-{i}" for i in rng.integers(0, _OWN_WORDS, n_own))
            words.extend(f"topic-{topic}-{i}" for i in rng.integers(0, _TOPIC_WORDS, words_per_label - n_own))
        words.extend(f"word-{i}" for i in np.searchsorted(common, rng.uniform(0, common[-1], words_per_label)))
        counts: dict[str, float] = {}
        for word in words:
            counts[word] = counts.get(word, 0.0) + 1.0
        yield counts, [f"topic-{topic}/label-{label}" for label in labels]
