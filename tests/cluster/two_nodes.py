# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""A Ray cluster of two nodes on this machine, which nothing outside can reach."""

from __future__ import annotations

import os
import secrets
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

N_CPUS = 2  # of each node
OBJECT_STORE = 80 * 2**20  # bytes; Ray's least is 75 MiB


def settings(folder: str) -> dict[str, str]:
    """Return the environment variables of the cluster, which Ray reads when it is imported."""
    return {
        "RAY_TMPDIR": folder,
        "RAY_USAGE_STATS_ENABLED": "0",
        # Without a token, whoever reaches a port of the cluster can run code on it.
        "RAY_AUTH_MODE": "token",
        "RAY_AUTH_TOKEN": secrets.token_hex(32),
        # As by default on macOS: 127.0.0.1 stays 127.0.0.1. On Linux, Ray otherwise replaces it by the address of
        # this machine on the network, which it finds by probing an address outside.
        "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",
    }


@contextmanager
def two_nodes() -> Iterator[Any]:
    """Start two nodes, connect to them, and yield the cluster; Ray must not have been imported before."""
    # Not a folder of pytest: with Ray's own folders, the path of a socket may have 107 characters.
    with tempfile.TemporaryDirectory(prefix="oplt-", ignore_cleanup_errors=True) as folder:
        os.environ.update(settings(folder))
        import ray  # not before, since it reads the environment
        from ray.cluster_utils import Cluster

        cluster = Cluster()
        try:
            for _ in range(2):
                cluster.add_node(
                    node_ip_address="127.0.0.1",
                    num_cpus=N_CPUS,
                    object_store_memory=OBJECT_STORE,
                    include_dashboard=False,
                )
            ray.init(address=cluster.address, log_to_driver=False, logging_level="warning")
            yield cluster
        finally:
            ray.shutdown()
            cluster.shutdown()  # ends the processes that the cluster started, by their ids
