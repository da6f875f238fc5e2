# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""`GET /v1/tree` and `GET /v1/labels/one`: what the model has learned, node by node and label by label."""

from __future__ import annotations

from typing import Annotated, Any

from litestar import Request, get
from litestar.params import QueryParameter

from oplt.browsing import Browser
from oplt.errors import InvalidInputError
from oplt.plt import PLT
from oplt.service.answers import ERRORS
from oplt.service.errors import NotFoundError
from oplt.service.label_listing import recent_label
from oplt.service.routes._common import Served, in_thread
from oplt.service.served_model import ServedModel
from oplt.service.structs_tree import (
    ChildAnswer,
    LabelOperationAnswer,
    LabelPageAnswer,
    NodeAnswer,
    PathAnswer,
    StepAnswer,
)

__all__ = ["label_page", "tree"]

# Names may be as long as an address may be: the HTTP parser refuses those above 64 kB by itself.
_Label = Annotated[str, QueryParameter(min_length=1, description="The name of the label.")]
_Tree = Annotated[int, QueryParameter(ge=0, le=2**31)]
_Node = Annotated[int | None, QueryParameter(ge=0, le=2**32, description="The root if it is left out.")]
_Offset = Annotated[int, QueryParameter(ge=0, le=2**40)]
_Limit = Annotated[int, QueryParameter(ge=1, le=1000)]


@get("/labels/one", opt={"scope": "predict"}, responses=ERRORS, summary="Describe a label")
async def label_page(served: Served, request: Request[Any, Any, Any], label: _Label) -> LabelPageAnswer:
    """Describe a label: its counts, its places in the trees, the words for and against it, and its operations."""
    return await in_thread(request, _described, served, label)


@get("/tree", opt={"scope": "predict"}, responses=ERRORS, summary="Describe a node of a tree")
async def tree(
    served: Served,
    request: Request[Any, Any, Any],
    tree: _Tree = 0,
    node: _Node = None,
    offset: _Offset = 0,
    limit: _Limit = 50,
) -> NodeAnswer:
    """Describe a node: the words that lead there, and its children, those with most examples first."""
    return await in_thread(request, _node, served, tree, node, offset, limit)


def _described(served: ServedModel, name: str) -> LabelPageAnswer:
    known = served.browsed  # before the state: what is found in a model from before a forgetting must not be kept
    current, _ = served.learner.state()
    state = current if isinstance(current, PLT) else current.snapshot()  # of one moment
    label = state.labels.called(name)
    try:
        view = Browser(state, known=known).label(label)
    except InvalidInputError:
        raise NotFoundError("no-such-label", "the model has no label of this name") from None
    info = state.labels.info(label)
    return LabelPageAnswer(
        label=info.label,
        n_examples=info.n_examples,
        first=info.first,
        last=info.last,
        hidden=info.hidden,
        aliases=list(info.aliases),
        recent=recent_label(served, info),
        path=[PathAnswer(number, list(nodes)) for number, nodes in view.paths],
        words=list(view.features.positive),
        against=list(view.features.negative),
        operations=[LabelOperationAnswer(one.kind, one.label, one.other, one.n_examples) for one in view.operations],
    )


def _node(served: ServedModel, number: int, node: int | None, offset: int, limit: int) -> NodeAnswer:
    known = served.browsed  # before the state, as above
    browser = Browser(served.learner.state()[0], known=known)
    try:
        view = browser.node(node, tree=number, offset=offset, limit=limit)
    except InvalidInputError as error:
        raise NotFoundError("no-such-node", error.what) from None
    return NodeAnswer(
        n_trees=browser.n_trees,
        tree=view.tree,
        node=view.node,
        parent=view.parent,
        path=[StepAnswer(one, browser.title(one, tree=number)) for one in view.path],
        label=view.label,
        n_labels=view.n_labels,
        words=list(view.features.positive),
        against=list(view.features.negative),
        n_children=view.n_children,
        children=[
            ChildAnswer(one.node, one.label, one.n_labels, one.n_examples, list(one.examples)) for one in view.children
        ],
    )
