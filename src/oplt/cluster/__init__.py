# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""One model on many machines: its tree is cut into shards, which are actors of a Ray cluster.

The outcome is bit for bit that of `OnlinePLT` in one process, whatever the number of shards. It needs the package ray:
``pip install 'oplt[ray]'``.
"""

from oplt.errors import MissingPackageError

try:
    import ray as _ray  # noqa: F401 (all modules of this package need it)
except ModuleNotFoundError as error:
    if error.name != "ray":
        raise
    raise MissingPackageError(
        "package-missing", "oplt.cluster needs the package ray", hint="Run: pip install 'oplt[ray]'"
    ) from None

from oplt.cluster._sharded import ShardedPLT

__all__ = ["ShardedPLT"]
