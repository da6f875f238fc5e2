# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""The definition of "proper": the online model equals that of IPLT on the final tree, bit for bit."""

from __future__ import annotations

import struct
from collections.abc import Mapping

from oplt import OnlinePLT

Cells = Mapping[int, tuple[float, float]]  # feature id -> weight, accumulator
Classifiers = Mapping[int, Cells]  # by node


def core_classifiers(model: OnlinePLT, *, auxiliary: bool = False) -> Classifiers:
    """Read the classifiers of all nodes, or all existing auxiliary ones."""
    found = {}
    for node in range(len(model._state().tree()[0])):
        cells = model._state().classifier(node, auxiliary=auxiliary)
        if cells is not None:
            features, weights, accumulators = (part.tolist() for part in cells)
            found[node] = dict(zip(features, zip(weights, accumulators, strict=True), strict=True))
    return found


def assert_proper(online: Classifiers, iplt: Classifiers) -> None:
    """Compare two sets of classifiers, bit for bit."""
    assert online.keys() == iplt.keys(), f"nodes with a classifier: {sorted(online)} online, {sorted(iplt)} by IPLT"
    for node in online:
        ours, theirs = online[node], iplt[node]
        assert ours.keys() == theirs.keys(), f"features of node {node}: {sorted(ours)} online, {sorted(theirs)} by IPLT"
        for feature in ours:
            assert _bits(ours[feature]) == _bits(theirs[feature]), (
                f"(weight, accumulator) of feature {feature} in node {node}:"
                f" {tuple(ours[feature])} online, {tuple(theirs[feature])} by IPLT"
            )


def assert_models_proper(online: OnlinePLT, iplt: OnlinePLT) -> None:
    """Compare all classifiers of two models, including the auxiliary ones, whose existence follows from the tree."""
    assert_proper(core_classifiers(online), core_classifiers(iplt))
    assert_proper(core_classifiers(online, auxiliary=True), core_classifiers(iplt, auxiliary=True))


def _bits(cell: tuple[float, float]) -> bytes:
    """Return the bits, which unlike == distinguish 0.0 from -0.0. A double represents every float32 exactly."""
    return struct.pack("<2d", *cell)
