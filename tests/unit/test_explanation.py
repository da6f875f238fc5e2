# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""Explanations of single predictions."""

from __future__ import annotations

import html
import re
from html.parser import HTMLParser
from typing import Any

import pytest

from oplt import PLT, InvalidInputError, LabelTree, OnlinePLT
from oplt.datasets import make_stream
from oplt.explanation import Explanation, Span
from oplt.explanation._html import pieces
from oplt.text import TextFeatures
from tests.unit.texts import LABELS, TEXTS, texts_and_labels

X, Y = map(list, zip(*make_stream(3000, n_labels=300, seed=1), strict=True))


@pytest.fixture(scope="module")
def model() -> OnlinePLT:
    model = OnlinePLT()
    model.learn_many(X, Y)
    return model


def of_texts(**settings: Any) -> OnlinePLT:
    model = OnlinePLT(features=TextFeatures(**settings))
    model.learn_many(TEXTS * 10, LABELS * 10)
    return model


def test_a_label_outside_the_candidates_is_explained_as_if_it_were_allowed_alone(model: OnlinePLT) -> None:
    found = [model.explain(X[0], label) for label in model.labels]
    outside = [each for each in found if each.rank is None]
    assert outside
    for each in outside:
        assert [(each.label, each.probability)] == model.predict_one(X[0], k=1, allow=[each.label])
        assert each.comparison is not None
        assert each.comparison.splits
        assert not each.is_predicted
        assert "not among the" in str(each)
    best = model.explain(X[0])
    assert best.rank == 1
    assert {each.rank for each in found} == {None, *range(1, best.n_candidates + 1)}


def test_the_split_is_the_last_common_node(model: OnlinePLT) -> None:
    tree = model.tree
    best, other = (label for label, _ in model.predict_one(X[0], k=2))
    found = model.explain(X[0], other).comparison
    assert found is not None

    def above(label: Any) -> list[int]:
        node, nodes = tree.labels.index(label), []
        while node >= 0:
            nodes.append(node)
            node = int(tree.parents[node])
        return nodes

    common = [node for node in above(best) if node in above(other)]
    assert [(split.tree, split.node) for split in found.splits] == [(0, common[0])]


def test_trees_that_do_not_return_a_label_do_not_count() -> None:
    model = OnlinePLT(trees=3, label_memory=0)
    model.learn_many(X, Y)
    n_counting = set()
    for x in X[:20]:
        for label, probability in model.predict_one(x, k=20):
            found = model.explain(x, label)
            counted = [path.probability for path in found.trees if path.counts]
            n_counting.add(len(counted))
            assert found.probability == probability
            assert found.tree_probability == pytest.approx(sum(each or 0 for each in counted) / 3, rel=1e-6)
            assert len(counted) == 3 or "the search did not reach the label" in str(found)
    assert n_counting >= {2, 3}


def test_a_label_that_only_the_memory_proposed_says_so() -> None:
    model = OnlinePLT()
    for number in range(2000):  # the tree hardly knows labels of one example
        model.learn_one({f"own {number}": 1.0, "common": 1.0}, [number])
    kinds = set()
    for number in range(0, 2000, 20):
        x = {f"own {number}": 1.0, "common": 0.2}
        for label, _ in model.predict_one(x, k=10):
            found = model.explain(x, label)
            assert found.memory is not None
            kinds.add((any(path.counts for path in found.trees), found.memory.proposed))
            if (False, True) in kinds:
                assert "proposed by the label memory, not by the tree" in str(found)
                return
    pytest.fail(f"only {kinds}")


def test_an_example_without_known_features_has_base_rates(model: OnlinePLT) -> None:
    for x in ({}, {"unheard of": 1.0}):
        found = model.explain(x)
        assert found.memory is None
        assert [step.name for step in found.steps] == ["base rate: no feature of the example is known"]
        assert (found.label, found.probability) == model.predict_one(x)[0]
    assert of_texts().explain("").spans == ()


def test_before_the_first_example_a_tree_alone_answers() -> None:
    model = OnlinePLT.from_tree(LabelTree.from_nested([["cat", "dog"], "stone"]))
    found = model.explain({"purrs": 1.0}, "dog")
    assert dict(model.predict_one({"purrs": 1.0}))["dog"] == found.probability
    assert [step.name for step in found.steps] == ["probability by the trees"]


def test_a_model_of_a_single_label() -> None:
    model = OnlinePLT()
    model.learn_one({"a": 1.0}, "only")
    found = model.explain({"a": 1.0})
    assert found.comparison is None
    assert [node.node for node in found.trees[0].nodes] == [0]
    assert [(found.label, found.probability)] == model.predict_one({"a": 1.0})


def test_unknown_labels_and_empty_models_are_errors(model: OnlinePLT) -> None:
    texts = of_texts()
    with pytest.raises(InvalidInputError, match=r"no such label, got 'Kernel'\. Did you mean 'linux:kernel'\?") as one:
        texts.explain("heap", "Kernel")
    assert one.value.code == "unknown-label"
    with pytest.raises(InvalidInputError, match=r"no such label, got '7'\. Did you mean 7\?"):
        texts.explain("heap", "7")
    with pytest.raises(InvalidInputError, match="Labels are case-sensitive"):
        model.explain(X[0], "nowhere")
    for label in (None, "x"):
        with pytest.raises(InvalidInputError, match="the model has no labels yet") as other:
            OnlinePLT().explain({"a": 1.0}, label)
        assert other.value.code == "no-labels"
    with pytest.raises(InvalidInputError, match="must be a text"):
        texts.explain({"a": 1.0})


@pytest.mark.parametrize("settings", [{}, {"trees": 2}, {"label_memory": 0}])
def test_labels_can_be_explained_if_all_are_hidden(settings: dict[str, Any]) -> None:
    model = OnlinePLT(**settings)
    model.learn_many(X, Y)
    model.labels.hide(list(model.labels))
    found = model.explain(X[0], Y[0][0])
    assert found.hidden
    assert (found.predicted, found.comparison) == ((), None)
    assert found.steps[-1].result == found.probability
    assert "hidden" in str(found)
    assert "hidden" in found.to_html()
    with pytest.raises(InvalidInputError, match=r"predicts no label for this example\. Pass the label"):
        model.explain(X[0])


def test_a_label_without_examples_can_be_explained_without_candidates() -> None:
    model = OnlinePLT()
    model.learn_one({"a": 1.0}, [])
    model.labels.add("cow")
    found = model.explain({"a": 1.0}, "cow")
    assert found.n_candidates == 0
    assert 0 <= found.probability <= 1


def test_calibrated_trees_are_explained_by_their_log_odds() -> None:
    model = OnlinePLT(label_memory=0)
    model.learn_many(X, Y)
    for label, probability in model.predict_one(X[3]):
        found = model.explain(X[3], label)
        assert (found.memory, found.probability) == (None, probability)
        assert [step.name for step in found.steps] == ["probability by the trees", "log-odds", "probability"]


def test_few_features_have_votes() -> None:
    model = OnlinePLT()
    model.learn_many([{i % 7: 1.0, 7 + i % 5: 0.5} for i in range(60)], [[i % 4] for i in range(60)])
    found = model.explain({1: 1.0, 8: 0.5}).memory
    assert found is not None
    assert found.votes is not None
    assert 0 < found.votes.n_voters <= 32
    assert found.votes.share > 0


@pytest.mark.parametrize(
    ("settings", "text", "expected"),
    [
        ({}, "My HEAP, in C++: heap", {"heap": ["HEAP", "heap"], "in": ["in"]}),
        ({"ngrams": (2, 2)}, "the  Linux-KERNEL", {"the linux": ["the  Linux"], "linux kernel": ["Linux-KERNEL"]}),
        ({"ngrams": None, "chars": (3, 3)}, "Kern", {"~ ke": ["Ke"], "~ker": ["Ker"], "~ern": ["ern"]}),
        ({}, "日本語 ТЕКСТ Über", {"日": ["日"], "本": ["本"], "語": ["語"], "текст": ["ТЕКСТ"]}),
        ({}, "ker\u00adnel", {"kernel": ["ker\u00adnel"]}),
        ({"token_pattern": r"(\w+)-?"}, "plug-in LINUX", {"plug": ["plug"], "in": ["in"], "linux": ["LINUX"]}),
        ({"token_pattern": r"\w+", "ngrams": (2, 2)}, "é:  linux ~ kernel", {"linux kernel": ["linux ~ kernel"]}),
        ({"hash_bits": 20}, "Heap in Русский", {"heap": ["Heap"], "in": ["in"], "русский": ["Русский"]}),
    ],
)
def test_terms_are_found_in_the_text(settings: dict[str, Any], text: str, expected: dict[str, list[str]]) -> None:
    found = of_texts(**settings).explain(text)
    seen: dict[Any, list[str]] = {}
    for span in found.spans:
        seen.setdefault(span.feature, []).append(text[span.begin : span.end])
    assert seen == expected
    assert found.text == text


def test_hashed_features_have_the_names_of_the_terms_in_the_text() -> None:
    model = of_texts(hash_bits=22)
    model.learn_many([{"text": "heap", "year": 5.0}] * 3, ["linux:kernel"] * 3)
    found = model.explain({"text": "Heap overflow, WordPress", "year": 5.0}, "linux:kernel")
    names = {each.feature for path in found.trees for node in path.nodes for each in node.features}
    assert names == {"heap", "overflow", "wordpress", ":year", None}
    crowded = of_texts(hash_bits=1).explain("heap overflow linux")
    assert {span.feature for span in crowded.spans} <= {"heap | overflow | linux", "heap | overflow", "linux"} | {
        str(span.feature) for span in crowded.spans
    }


def test_a_text_with_lone_surrogates_is_explained() -> None:
    found = of_texts().explain("heap \ud800 kernel")
    assert [span.feature for span in found.spans] == ["heap", "kernel"]
    assert [(span.begin, span.end) for span in found.spans] == [(0, 4), (7, 13)]
    found.to_html().encode()


def test_pieces_cover_the_text_once() -> None:
    spans = [Span(0, 4, "heap"), Span(0, 9, "heap over"), Span(5, 9, "over")]
    assert list(pieces("heap over!", spans)) == [
        (0, 4, ["heap", "heap over"]),
        (4, 5, ["heap over"]),
        (5, 9, ["heap over", "over"]),
        (9, 10, []),
    ]
    assert list(pieces("", [])) == []


class Tags(HTMLParser):
    """Collects the tags and the text of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}

    def handle_data(self, data: str) -> None:
        self.text += data


HOSTILE = "<script>alert(1)</script>\"'><img src=x onerror=alert(1)>&amp; {{ content }}"


def test_a_page_is_safe_whatever_labels_features_and_texts_contain() -> None:
    model = OnlinePLT(features=TextFeatures(token_pattern=r"\S+"))
    model.learn_many([f"{HOSTILE} one", "two three"] * 5, [HOSTILE, "x\u202e"] * 5)
    for label in model.labels:
        page = model.explain(f"{HOSTILE} two", label).to_html()
        tags = Tags()
        tags.feed(page)
        assert not tags.tags & {"script", "img", "link", "iframe", "object"}
        assert not any(name.startswith("on") or name in {"src", "href"} for name in tags.attributes)
        assert HOSTILE in tags.text
        assert html.escape(HOSTILE) in page
        assert "\u202e" not in re.sub(r"<p class=text.*?</p>", "", page)
        assert "default-src 'none'" in page


def test_the_text_is_one_that_a_terminal_can_show() -> None:
    model = OnlinePLT()
    model.learn_many([{"a\x1b[2J": 1.0}, {"b\n": 1.0}], ["x\x1b[2J", "y\ny"])
    shown = str(model.explain({"a\x1b[2J": 1.0}))
    assert "\x1b" not in shown
    assert "x\\x1b[2J" in shown


def test_online_models_and_their_snapshots_and_files_explain_alike(model: OnlinePLT, tmp_path: Any) -> None:
    path = tmp_path / "m.oplt"
    model.save(path)
    found = model.explain(X[1])
    assert isinstance(found, Explanation)
    assert found == model.snapshot().explain(X[1]) == PLT.load(path).explain(X[1]) == OnlinePLT.load(path).explain(X[1])


def test_the_margin_of_a_batch_trained_model_is_called_so() -> None:
    texts, labels = texts_and_labels(100)
    model = PLT.fit(texts, labels, features="text")
    found = model.explain(texts[0])
    assert found.link == "squared-hinge"
    assert "margin" in str(found)
    assert "log-odds" not in str(found)


def test_labels_without_a_leaf_and_hidden_ones() -> None:
    model = OnlinePLT(features="text")
    model.learn_many(["My cat purrs", "The dog barks"] * 8, ["cat", "dog"] * 8)
    model.labels.add("cow", text="A cow moos")
    found = model.explain("It moos", "cow")
    assert found.trees[0].nodes == ()
    assert found.memory is not None
    assert [feature.feature for feature in found.memory.features] == ["moos"]
    assert ("cow", found.probability) in model.predict_one("It moos")
    model.labels.hide("cow")
    hidden = model.explain("It moos", "cow")
    assert (hidden.hidden, hidden.rank, found.hidden) == (True, None, False)
    assert "hidden, so it is not predicted" in str(hidden)
    assert "cow" not in dict(hidden.predicted)
    model.labels.merge("dog", into="cat")
    assert model.explain("The dog barks", "dog").label == "cat"


def test_the_number_of_examples_since_the_last_one_is_counted_in_words() -> None:
    model = OnlinePLT(features="text")
    model.learn_many(["it purrs", "it barks", "it barks again"], ["cat", "dog", "dog"])
    assert "1 example, the last one 2 examples ago" in model.explain("it purrs", "cat").to_text()
    model.learn_one("it purrs", ["cat"])
    assert "2 examples, the last one 1 example ago" in model.explain("it barks", "dog").to_text()


def test_a_described_label_of_an_untrained_model() -> None:
    model = OnlinePLT()
    model.labels.add("cow", features={"moos": 1.0})
    found = model.explain({"moos": 1.0})
    assert [(found.label, found.probability)] == model.predict_one({"moos": 1.0})
