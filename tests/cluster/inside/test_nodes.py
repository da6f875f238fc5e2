# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""The cluster of these tests has two nodes, and is closed to the outside."""

from __future__ import annotations

import ipaddress
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.usefixtures("cluster")


def listening() -> dict[str, Any]:
    """Return the addresses on which processes of this machine listen, by name of the socket."""
    found = {}
    for name in ("tcp", "tcp6"):
        for line in Path("/proc/net", name).read_text().splitlines()[1:]:
            fields = line.split()
            if fields[3] == "0A":  # TCP_LISTEN
                words = bytes.fromhex(fields[1].partition(":")[0])  # of 4 bytes, the last byte first
                address = ipaddress.ip_address(b"".join(words[i : i + 4][::-1] for i in range(0, len(words), 4)))
                found[f"socket:[{fields[9]}]"] = getattr(address, "ipv4_mapped", None) or address
    return found


def sockets_of(process: Path) -> set[str]:
    """Return the names of the files that a process of this cluster has open; none for other processes."""
    try:
        if os.environ["RAY_AUTH_TOKEN"].encode() not in process.joinpath("environ").read_bytes():
            return set()
        return {str(link.readlink()) for link in process.joinpath("fd").iterdir()}
    except OSError:  # it has ended, or belongs to somebody else
        return set()


def connect(address: str, token: str) -> subprocess.CompletedProcess[str]:
    """Connect to the cluster from another process."""
    script = f"import ray; ray.init(address={address!r}, logging_level='error')"
    changed = {"RAY_AUTH_TOKEN": token, "RAY_NUM_REDIS_GET_RETRIES": "1"}  # a single attempt
    command = [sys.executable, "-c", script]
    return subprocess.run(command, env={**os.environ, **changed}, capture_output=True, text=True, check=False)  # noqa: S603


def test_tasks_run_on_both_nodes() -> None:
    import ray

    @ray.remote(num_cpus=2, scheduling_strategy="SPREAD")
    def node() -> str:
        time.sleep(1)  # long enough that the second task does not wait for the first
        return str(ray.get_runtime_context().get_node_id())

    assert len([one for one in ray.nodes() if one["Alive"]]) == 2
    assert len(set(ray.get([node.remote(), node.remote()]))) == 2


def test_the_cluster_listens_on_the_loopback_address_only() -> None:
    addresses = listening()
    own = {name for process in Path("/proc").glob("[0-9]*") for name in sockets_of(process)}
    found = [address for name, address in addresses.items() if name in own]
    assert len(found) >= 5  # the store of the cluster, the two nodes and their agents
    assert all(address.is_loopback for address in found), found


def test_a_wrong_token_is_refused(cluster: Any) -> None:
    right, wrong = connect(cluster.address, os.environ["RAY_AUTH_TOKEN"]), connect(cluster.address, "wrong")
    assert right.returncode == 0, right.stderr
    assert wrong.returncode != 0
    assert "InvalidAuthToken" in wrong.stderr
