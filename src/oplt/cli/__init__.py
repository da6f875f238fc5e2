# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""The command line: `oplt`, a group of commands.

Each command is the object `command` of the module with the same name, which is imported only when the command is run.
That keeps `oplt --help` fast.
"""

from __future__ import annotations

import difflib
from importlib import import_module
from typing import Any

import click
from click.shell_completion import CompletionItem

from oplt.cli._console import COMMAND_LINE, WrongUsageError, reporting_errors, showing_what_was_typed

__all__ = ["COMMANDS", "main"]

# The one-line help of each command, in the order in which a user needs them.
COMMANDS = {
    "train": "Train a model on examples.",
    "predict": "Predict labels for examples.",
    "explain": "Explain why a label is predicted for an example, or why it is not.",
    "learn": "Update a saved model with more examples.",
    "regrow": "Build a better tree from all examples that a model has learned.",
    "forget": "Remove examples from a model, as if it had never learned them.",
    "tune": "Choose the prediction thresholds of a model, for F1 or for a required precision.",
    "evaluate": "Measure the quality of a model's predictions on test data.",
    "progressive": "Evaluate a model on a stream: predict each example before learning it.",
    "labels": "List the labels of a model; add, rename, hide, remove or merge labels.",
    "inspect": "Show the contents of a model: settings, size, largest nodes, labels.",
    "tree": "Draw the tree of a model as text, SVG, HTML or Graphviz DOT.",
    "serve": "Serve models over HTTP: they learn what they are sent and lose nothing in a crash.",
    "token": "Make or withdraw a token for oplt serve.",
    "promote": "Make a follower of oplt serve a leader.",
    "convert": "Convert examples from one file format to another.",
    "demo": "Watch a model learn from a stream in which new labels keep appearing.",
    "completion": "Print a shell completion script.",
}


class _Commands(click.Group):
    """Commands that are imported when they are run, and whose errors are reported in one place."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 (Click's signature)
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
        with reporting_errors():
            return super().invoke(ctx)


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(package_name="oplt", message="oplt %(version)s")
def main() -> None:
    """Multi-label classification for streams in which new labels keep appearing.

    \b
      oplt train examples.jsonl --model tags.oplt
      oplt predict tags.oplt new.jsonl
      oplt evaluate tags.oplt test.jsonl

    Each example is one line, such as {"text": "Heap overflow in Linux", "labels": ["kernel"]}. Commands also read CSV,
    TSV, Parquet, fastText, Vowpal Wabbit and sparse XMLC/LIBSVM files, compressed or not. A dash (-) means standard
    input.

    Results go to standard output, everything else to standard error. Exit codes: 0 success; 1 invalid data or model;
    2 invalid command line; 3 the model was saved but is unusable (see oplt train --help); 130 interrupted by Ctrl-C,
    143 by SIGTERM; 141 the reader of the output has closed the pipe.
    """
