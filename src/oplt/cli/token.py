# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""`oplt token`: make and withdraw the tokens of a server."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from oplt.cli._console import note, quiet_option, say
from oplt.cli._options import Command
from oplt.errors import MissingPackageError

__all__ = ["command"]


@click.command("token", cls=Command)
@click.argument("path", metavar="FILE", type=click.Path(path_type=Path))
@click.argument("name", metavar="NAME")
@click.option(
    "--scope",
    "scopes",
    multiple=True,
    type=click.Choice(["predict", "learn", "admin"]),
    default=("predict",),
    show_default=True,
    help="What the token allows; can be repeated. admin allows everything.",
)
@click.option("--remove", is_flag=True, help="Withdraw the token of this name.")
@quiet_option
def command(path: Path, name: str, scopes: tuple[Any, ...], remove: bool) -> None:
    """Make a token for oplt serve, and print it. Only its hash is stored in FILE.

    \b
      oplt token tokens.json reader
      oplt token tokens.json desk --scope predict --scope learn
      oplt token tokens.json desk --remove

    A running server notices changes of FILE. The journal records which token sent an example, by its name.
    """
    try:
        from oplt.service.tokens import add_token, remove_token
    except ModuleNotFoundError as error:
        raise MissingPackageError(
            "package-missing", f"oplt token needs the package {error.name}", hint="Run: pip install 'oplt[serve]'"
        ) from None
    if remove:
        remove_token(path, name)
        note(f"Withdrew the token {name!r} from {path}.")
        return
    say(add_token(path, name, list(scopes)))
    note(f"Its hash is in {path}; the token itself is not stored. Send it as: Authorization: Bearer TOKEN")
