# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""`oplt completion`: shell completion scripts."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from oplt.cli._console import WrongUsageError, note, quiet_option

__all__ = ["command"]

_INSTALL = {
    "bash": "echo 'eval \"$(oplt completion bash -q)\"' >> ~/.bashrc",
    "zsh": "echo 'eval \"$(oplt completion zsh -q)\"' >> ~/.zshrc",
    "fish": "oplt completion fish -q > ~/.config/fish/completions/oplt.fish",
}


@click.command("completion")
@click.argument("shell", type=click.Choice(list(_INSTALL)))
@quiet_option
@click.pass_context
def command(ctx: click.Context, shell: str) -> None:
    """Print a script with which the shell completes oplt's commands, options and file names.

    \b
      echo 'eval "$(oplt completion bash -q)"' >> ~/.bashrc
      echo 'eval "$(oplt completion zsh -q)"' >> ~/.zshrc
      oplt completion fish -q > ~/.config/fish/completions/oplt.fish
    """
    script = get_completion_class(shell)
    if script is None:  # Click knows all three
        raise WrongUsageError(shell)
    click.echo(script(ctx.find_root().command, {}, "oplt", "_OPLT_COMPLETE").source())
    note(f"To enable completion in every new shell, run: {_INSTALL[shell]}")
