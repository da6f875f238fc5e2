# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""Drawings of trees: what is drawn, what is left out, and that labels are escaped."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable
from html.parser import HTMLParser
from itertools import pairwise
from typing import Any
from xml.etree import ElementTree as ET  # safe: parses only our own pictures

import pytest

from oplt import InvalidInputError, InvalidParameterError, LabelTree, OnlinePLT
from oplt.drawing import as_dot, as_html, as_svg, as_text
from oplt.tree import complete

SMALL = LabelTree.from_nested([["cat", "dog"], ["granite", ["marble", 7]], "water"])
LARGE = complete([f"label-{i}" for i in range(1000)], arity=8)
DEEP = LabelTree([-1, *range(3000)], [None] * 3000 + ["at the bottom"])

HOSTILE = [
    'a "quoted" label',
    "it's",
    "two\nlines",
    "back\\slash\\N",
    "</script><script>alert(1)</script>",
    "<!-- comment",
    "<b>&amp;</b>",
    '"]; evil [label="',
    "{{ data }}",
    "tab\tnull\x00bell\x07",
    "\u202egnp.exe",  # reverses the direction of the text that follows
    "日本語 ärger 🌳",
    "]]>",
]
HOSTILE_TREE = LabelTree.from_nested([HOSTILE, ["harmless", -3]])

SVG = "{http://www.w3.org/2000/svg}"


def captions(svg: str) -> list[str]:
    return [title.text or "" for title in ET.fromstring(svg).iterfind(f"{SVG}g/{SVG}title")]  # noqa: S314


class Page(HTMLParser):
    """Elements of a page, and the content of its scripts."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.texts.append(data)

    def data(self) -> Any:
        (found,) = [text for text in self.texts if text.startswith('{"parents"')]
        return json.loads(found)


def test_a_small_tree_is_drawn_as_a_whole() -> None:
    assert as_text(SMALL).splitlines() == [
        "node 0: 6 labels",
        "├─ node 1: 2 labels",
        "│  ├─ cat",
        "│  └─ dog",
        "├─ node 2: 3 labels",
        "│  ├─ granite",
        "│  └─ node 7: 2 labels",
        "│     ├─ marble",
        "│     └─ 7",
        "└─ water",
    ]


def test_ascii_alone() -> None:
    text = as_text(HOSTILE_TREE, children=2, ascii=True)
    assert text.isascii()
    assert as_text(SMALL, depth=1, ascii=True).splitlines() == [
        "node 0: 6 labels",
        "|- node 1: 2 labels (cat, dog)",
        "|- node 2: 3 labels (granite, marble, 7)",
        "`- water",
        "4 of 10 nodes and 1 of 6 labels are drawn.",
    ]
    assert "\\xe4rger" in as_text(HOSTILE_TREE, ascii=True)


@pytest.mark.parametrize("draw", [as_text, as_svg])
def test_a_large_tree_is_cut_and_says_so(draw: Callable[[LabelTree], str]) -> None:
    drawing = draw(LARGE)
    assert f"of {LARGE.n_nodes:,} nodes and 0 of 1,000 labels are drawn." in drawing
    assert "… 2 more (" in drawing
    assert len(drawing) < 20_000


def test_the_numbers_of_what_is_left_out_add_up() -> None:
    lines = as_text(LARGE, depth=2, children=3).splitlines()[1:-1]
    top = [line for line in lines if line[0] in "├└" and line[1] == "─"]
    n_labels = [int(re.search(r"([\d,]+) labels?", line)[1].replace(",", "")) for line in top]  # type: ignore[index]
    assert len(top) == 4
    assert sum(n_labels) == 1000


def test_a_node_that_is_not_opened_names_its_first_labels() -> None:
    assert as_text(LARGE, depth=0).splitlines()[0] == "node 0: 1,000 labels (label-0, label-1, label-2, …)"


def test_the_way_to_a_label_and_its_neighbours() -> None:
    assert as_text(SMALL, label=7).splitlines() == [
        "node 0: 6 labels",
        "├─ node 2: 3 labels",
        "│  ├─ node 7: 2 labels",
        "│  │  ├─ marble",
        "│  │  └─ 7 ◀",
        "│  └─ … 1 more (1 label)",
        "└─ … 2 more (3 labels)",
        "5 of 10 nodes and 2 of 6 labels are drawn.",
    ]


def test_a_label_is_drawn_however_few_neighbours_are() -> None:
    for label in ("label-0", "label-500", "label-999"):
        assert f"{label} ◀" in as_text(LARGE, label=label, children=1)


def test_neighbours_that_are_no_labels_stay_closed() -> None:
    tree = LabelTree.from_nested(["cat", ["granite", "marble"]])
    assert as_text(tree, label="cat").splitlines()[1:3] == ["├─ cat ◀", "└─ node 2: 2 labels (granite, marble)"]


def test_trees_without_a_label_and_with_one() -> None:
    lone = OnlinePLT()
    assert as_text(lone.tree) == "node 0: 0 labels"
    for draw in (as_dot, as_svg, as_html):
        assert draw(lone.tree)
    lone.learn_one({"x": 1}, "only")
    assert as_text(lone.tree) == "only"
    assert as_text(lone.tree, label="only") == "only ◀"


@pytest.mark.parametrize("draw", [as_text, as_dot, as_svg, as_html])
def test_a_tree_may_be_as_deep_as_it_likes(draw: Callable[..., str]) -> None:
    assert "at the bottom" in draw(DEEP, depth=3000)


def comb(depth: int) -> LabelTree:
    """Make a tree in which each node has a leaf and the next node."""
    parents = [-1, *(2 * level for level in range(depth) for _ in range(2))]
    labels = [None, *(name for level in range(depth) for name in (f"leaf {level}", None))]
    return LabelTree(parents, [*labels[:-1], "end"])


@pytest.mark.parametrize("draw", [as_text, as_svg, as_dot])
@pytest.mark.parametrize("asked", [{"label": "end"}, {"children": 2}])
def test_a_drawing_grows_as_the_depth_does(draw: Callable[..., str], asked: dict[str, Any]) -> None:
    some, more = (len(draw(comb(depth), **asked)) for depth in (1000, 4000))
    assert more < 4.5 * some


def test_deep_nodes_tell_their_level_instead_of_being_indented() -> None:
    lines = as_text(comb(1200), children=2).splitlines()
    assert max(map(len, lines)) < 200
    assert lines[-1].startswith("… level 1,200 … ")
    assert lines[-1].endswith("└─ end")
    assert not any(line.startswith("…") for line in lines[:100])
    assert as_text(comb(1200), children=2, ascii=True).splitlines()[-1].startswith("... level 1,200 ... ")


def test_the_way_to_a_deep_label_is_found_quickly() -> None:
    tree = comb(30_000)  # a linear search per node would take minutes
    started = time.perf_counter()
    for draw in (as_text, as_svg, as_dot):
        draw(tree, label="end")
    assert time.perf_counter() - started < 30


@pytest.mark.parametrize("draw", [as_text, as_dot, as_svg, as_html])
def test_what_cannot_be_drawn_is_told(draw: Callable[..., str]) -> None:
    with pytest.raises(InvalidInputError, match="must be a LabelTree, such as the tree of a model, got OnlinePLT"):
        draw(OnlinePLT())
    with pytest.raises(InvalidInputError, match=r"the tree has no label 'GRAN'. Did you mean 'granite'\?"):
        draw(SMALL, label="GRAN")
    with pytest.raises(InvalidInputError, match="no label 'zebra', and no label that contains it"):
        draw(SMALL, label="zebra")
    with pytest.raises(InvalidParameterError, match="depth must be at least 0, got -1"):
        draw(SMALL, depth=-1)
    with pytest.raises(InvalidParameterError, match="children must be at least 1, got 0"):
        draw(SMALL, children=0)


@pytest.mark.parametrize("draw", [as_text, as_dot, as_svg])
def test_depth_and_label_do_not_go_together(draw: Callable[..., str]) -> None:
    with pytest.raises(
        InvalidParameterError, match="depth=1 cannot be combined: label draws the whole path to it, however deep"
    ):
        draw(SMALL, label="cat", depth=1)


def test_each_label_takes_one_line_of_text() -> None:
    lines = as_text(HOSTILE_TREE).splitlines()
    assert len(lines) == HOSTILE_TREE.n_nodes
    assert "│  ├─ two\\nlines" in lines
    assert "│  ├─ \\u202egnp.exe" in lines


@pytest.mark.parametrize("label", ["می\u200cخواهم", "👨\u200d👩\u200d👧", "日本\u3000語", "10\u00a0km"])
def test_joiners_and_spaces_belong_to_words(label: str) -> None:
    tree = LabelTree.from_nested([label, "other"])
    assert f"├─ {label}" in as_text(tree).split("\n")
    for draw in (as_dot, as_svg, as_html):
        assert label in draw(tree)


def unquoted(string: str) -> str:
    """Read a quoted string as Graphviz does: first the quotes of DOT, then its own escapes and entities."""
    return string.replace('\\"', '"').replace("\\\\", "\\").replace("&amp;", "&")


def test_labels_cannot_break_out_of_dot() -> None:
    dot = as_dot(HOSTILE_TREE)
    head, *lines, end = dot.splitlines()[1:]
    assert (head[:9], end) == ('  label="', "}")
    node = re.compile(r'  \d+ \[label="((?:[^"\\]|\\["\\])*)"\];')  # a backslash only before a quote or a backslash
    found = [match[1] for line in lines if (match := node.fullmatch(line))]
    edges = [line for line in lines if re.fullmatch(r"  \d+ -> \d+;", line)]
    assert len(found) + len(edges) == len(lines)
    assert (len(found), len(edges)) == (HOSTILE_TREE.n_nodes, HOSTILE_TREE.n_nodes - 1)
    assert set(map(unquoted, found)) >= {'a "quoted" label', "back\\slash\\N", "<b>&amp;</b>", '"]; evil [label="'}


def test_dot_is_of_the_whole_tree_unless_told_otherwise() -> None:
    assert as_dot(LARGE).count("->") == LARGE.n_nodes - 1
    assert as_dot(SMALL, children=1).count("shape=plaintext") == 2
    assert '[label="cat", style=bold];' in as_dot(SMALL, label="cat")


def test_labels_cannot_break_out_of_svg() -> None:
    found = captions(as_svg(HOSTILE_TREE))
    assert len(found) == HOSTILE_TREE.n_nodes
    assert set(found) >= {"</script><script>alert(1)</script>", "tab\\tnull\\x00bell\\x07", "日本語 ärger 🌳", "]]>"}


def test_boxes_of_a_picture_lie_within_it_and_apart() -> None:
    root = ET.fromstring(as_svg(LARGE, depth=3, children=4))  # noqa: S314 (our own)
    sides = ("x", "y", "width", "height")
    boxes = [{side: float(rect.get(side, "")) for side in sides} for rect in root.iter(f"{SVG}rect")]
    assert len(boxes) == len(list(root.iter(f"{SVG}path"))) + 1
    for box in boxes:
        assert 0 <= box["x"] <= box["x"] + box["width"] <= float(root.get("width", ""))
        assert 0 <= box["y"] <= box["y"] + box["height"] <= float(root.get("height", ""))
    columns: dict[float, list[dict[str, float]]] = {}
    for box in boxes:
        columns.setdefault(box["x"], []).append(box)
    assert len(columns) == 4
    for lefts, rights in pairwise(sorted(columns)):
        assert max(box["x"] + box["width"] for box in columns[lefts]) < rights
    for column in columns.values():
        rows = sorted(box["y"] for box in column)
        assert all(below - above >= 18 for above, below in pairwise(rows))


def test_a_long_label_is_cut_in_a_picture_but_told_in_full() -> None:
    svg = as_svg(LabelTree.from_nested(["x" * 500, "y"]))
    assert "x" * 500 in captions(svg)
    texts = [text.text or "" for text in ET.fromstring(svg).iter(f"{SVG}text")]  # noqa: S314 (our own)
    assert "x" * 59 + "…" in texts


def test_a_page_holds_the_whole_tree() -> None:
    data = Page(as_html(LARGE, depth=2, children=50, label="label-3")).data()
    assert data["parents"] == LARGE.parents.tolist()
    assert data["names"] == list(LARGE.labels)
    assert (data["depth"], data["portion"], LARGE.labels[data["sought"]]) == (2, 50, "label-3")


def test_labels_and_title_cannot_break_out_of_a_page() -> None:
    harmless = Page(as_html(LabelTree.from_nested([list("abcdefghijklm"), ["harmless", -3]]), title="x"))
    hostile = Page(as_html(HOSTILE_TREE, title="</title><script>alert(1)</script>"))
    assert hostile.elements == harmless.elements
    assert set(hostile.data()["names"]) >= {"</script><script>alert(1)</script>", "<!-- comment", "{{ data }}", "-3"}


def test_a_page_asks_for_nothing_from_elsewhere() -> None:
    page = as_html(SMALL)
    assert not re.search(r"https?://|@import|url\(|innerHTML|document\.write|\{\{", page)
    elements = Page(page).elements
    assert not [attributes for _, attributes in elements if {"src", "href"} & set(attributes)]
    (policy,) = [a["content"] for _, a in elements if a.get("http-equiv") == "Content-Security-Policy"]
    assert policy is not None
    assert policy.startswith("default-src 'none'")


def test_a_page_names_its_parts_for_screen_readers() -> None:
    elements = Page(as_html(SMALL)).elements
    roles = {attributes.get("role") for _, attributes in elements}
    assert roles >= {"tree", "search", "status"}
    assert ("html", {"lang": "en"}) in elements
    assert {attributes.get("for") for _, attributes in elements} >= {"search"}


def test_a_page_of_fifty_thousand_labels_is_a_few_megabytes() -> None:
    tree = complete([f"vendor:product-{i}" for i in range(50_000)], arity=31)
    assert len(as_html(tree)) < 3_000_000
