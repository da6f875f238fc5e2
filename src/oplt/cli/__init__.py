# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""The command line: `oplt`, a group of commands.

A command is the object `command` of the module of its name, which is imported when the command is called: `oplt --help`
is there at once.
"""

from __future__ import annotations

import difflib
from importlib import import_module
from typing import Any

import click
from click.shell_completion import CompletionItem

from oplt.cli._console import COMMAND_LINE, WrongUsageError, showing_what_was_typed, telling_errors

__all__ = ["COMMANDS", "main"]

# What `oplt --help` says of each, in the order in which one needs them.
COMMANDS = {
    "train": "Learn a model from examples.",
    "predict": "Predict the labels of examples.",
    "learn": "Go on with a saved model: learn more examples.",
    "tune": "Choose the thresholds of a model: for F1, or for a precision to hold.",
    "evaluate": "Measure how good the predictions of a model are.",
    "progressive": "Predict each example before it is learnt, and tell how good that was.",
    "inspect": "Show what is in a model: settings, size, memory, largest nodes, labels.",
    "tree": "Draw the tree of a model: as text, for Graphviz, as a picture or as a page.",
    "convert": "Write examples in another format.",
    "demo": "Watch a model learn a stream whose labels keep emerging.",
    "completion": "Print what makes a shell complete commands and options.",
}


class _Commands(click.Group):
    """Commands that are imported when they are called, and whose errors are told in one place."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 (as Click has it)
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = import_module(f"oplt.cli.{cmd_name}").command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        found = [CompletionItem(name, help=says) for name, says in COMMANDS.items() if name.startswith(incomplete)]
        return found + click.Command.shell_complete(self, ctx, incomplete)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        near = difflib.get_close_matches(args[0], COMMANDS, n=1)
        if args[0] not in COMMANDS and near:
            msg = f"there is no command {args[0]!r}; did you mean {near[0]!r}?"
            raise WrongUsageError(msg)
        return super().resolve_command(ctx, args)

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        words = [*(info_name or "oplt").split(), *args]
        with showing_what_was_typed():
            context = super().make_context(info_name, args, parent, **extra)
        context.meta[COMMAND_LINE] = words
        return context

    def invoke(self, ctx: click.Context) -> Any:
        with telling_errors():
            return super().invoke(ctx)


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(package_name="oplt", message="oplt %(version)s")
def main() -> None:
    """Learn to tag texts, or any examples, with labels that keep coming.

    \b
      oplt train examples.jsonl --model tags.oplt
      oplt predict tags.oplt new.jsonl
      oplt evaluate tags.oplt test.jsonl

    An example is a line: {"text": "Heap overflow in Linux", "labels": ["kernel"]}. CSV, TSV, Parquet, fastText's and
    Vowpal Wabbit's lines and sparse features are read, too, compressed or not; a dash (-) is standard input.

    Results go to standard output, everything else to standard error. Exit codes: 0 done; 1 the data or the model is
    wrong; 2 the command is; 3 the model was saved, but is of no use (see oplt train); 130 interrupted by Ctrl-C, 143 by
    SIGTERM; 141 nobody reads the output.
    """
