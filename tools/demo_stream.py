# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""Made-up reports of security problems, with labels that keep appearing: for screenshots."""

from __future__ import annotations

import random
from collections.abc import Iterator

__all__ = ["reports"]

_TOPICS = {
    "buffer-overflow": "heap overflow write past the end buffer length copy bounds",
    "use-after-free": "freed object pointer use after free race release reference",
    "sql-injection": "query injection database parameter statement quote table select",
    "cross-site-scripting": "script page browser html injection cookie attribute escape",
    "path-traversal": "path dot directory traversal file read archive extract",
    "denial-of-service": "loop memory exhaustion crash request flood hang recursion",
    "privilege-escalation": "root user permission setuid privilege local group role",
    "information-leak": "leak log secret memory disclose uninitialized token exposed",
    "authentication": "login password session bypass credential default account",
    "cryptography": "key cipher certificate signature weak random nonce padding",
    "deserialization": "object deserialize gadget payload class untrusted stream",
    "misconfiguration": "default setting bucket public open port enabled example",
}
_PRODUCTS = {
    "linux-kernel": "kernel driver socket netfilter ioctl",
    "web-server": "server proxy header http upstream",
    "browser": "renderer tab javascript engine worker",
    "database": "cluster replica storage index shard",
    "mail-client": "mail attachment folder imap message",
    "container-runtime": "container image namespace mount runtime",
    "router": "firmware router wifi management upnp",
    "phone": "bluetooth modem app phone screen",
}
_LATE = {  # labels that begin during the stream: the share of the stream that has passed by then
    "container-runtime": 0.25,
    "misconfiguration": 0.35,
    "phone": 0.5,
    "deserialization": 0.6,
}
_FILLER = "in the of a via when allows attacker remote crafted can be an issue version before".split()


def reports(n: int, seed: int = 1) -> Iterator[tuple[str, list[str]]]:
    """Yield texts and labels. Two thirds into the stream, the words of some labels change."""
    chance = random.Random(seed)  # noqa: S311 (no secrets)
    for i in range(n):
        passed = i / n
        topic = _chosen(_TOPICS, passed, chance)
        product = _chosen(_PRODUCTS, passed, chance)
        other = chance.choice(list(_TOPICS.values()))
        words = chance.choices(_TOPICS[topic].split(), k=3) + chance.choices(other.split(), k=2)
        words += chance.choices(_PRODUCTS[product].split(), k=2)
        if passed > 0.66 and chance.random() < 0.6:
            words = [f"{word}-{chance.randrange(3)}" if chance.random() < 0.7 else word for word in words]
        words += chance.choices(_FILLER, k=6)
        chance.shuffle(words)
        labels = [topic, product]
        if chance.random() < 0.15:
            labels.append(f"vendor-{int(chance.paretovariate(0.7)) % 400}")
        yield " ".join(words).capitalize(), labels


def _chosen(pool: dict[str, str], passed: float, chance: random.Random) -> str:
    names = [name for name in pool if _LATE.get(name, 0) <= passed]
    return chance.choices(names, weights=range(len(names), 0, -1))[0]
