# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""`oplt promote`: make a follower a leader."""

from __future__ import annotations

import os

import click

from oplt.cli._console import note, quiet_option
from oplt.cli._options import Command

__all__ = ["command"]


@click.command("promote", cls=Command)
@click.argument("url", metavar="URL")
@quiet_option
def command(url: str) -> None:
    """Make a follower, started with oplt serve --follow, a leader that accepts examples.

    \b
      oplt promote http://127.0.0.1:8001

    Stop the old leader first: two leaders would learn different examples. The token, if the server requires one, is
    taken from the variable OPLT_TOKEN and must allow admin.
    """
    from oplt.client import Client

    with Client(url, token=os.environ.get("OPLT_TOKEN"), retries=2) as client:
        position = client.request("POST", "/promote")["position"]
    note(f"{url} leads, from position {position:,} on.")
