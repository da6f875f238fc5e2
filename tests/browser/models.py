# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""What the models of the browser tests learn."""

from __future__ import annotations

from collections.abc import Sequence

from oplt.service.examples import Example
from oplt.service.served_model import ServedModel
from tests.service.running import learn_all

SMALL: list[tuple[str, list[str]]] = [
    ("heap overflow in the kernel", ["kernel", "memory"]),
    ("script injection through the form", ["web"]),
    ("password in the log file", ["secrets"]),
] * 20

# Names that must be shown as they are: an emoji, one that joiners make of three, and a word whose script needs one
PLAIN = [
    "\U0001f4a5 and é",
    "\U0001f468\u200d\U0001f469\u200d\U0001f467",
    "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645",
]
HOSTILE = [
    "<img src=x onerror=alert(1)>",
    '"><script>alert(1)</script>',
    "' onclick='alert(1)",
    "javascript:alert(1)",
    "&lt;b&gt; &amp; co",
    "a/b?c=d#e%20f+g",
    "line\nbreak\r\nand\ttab",
    "\u202eright to left\u202c",
    "\u2067isolated",
    "\u200b",
    "   ",
    "\u3164",
    "__proto__",
    "constructor",
    *PLAIN,
    "x" * 10_000,
    "many words " * 900 + "end",
]


def learn(model: ServedModel, examples: Sequence[tuple[str, Sequence[str]]]) -> None:
    """Learn texts with their labels."""
    learn_all(model, [Example(text=text, labels=list(labels)) for text, labels in examples])
