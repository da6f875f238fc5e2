# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""The help is complete, fast and true."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import click
import pytest

import oplt
from oplt import files
from oplt.cli import COMMANDS, main
from oplt.cli._hints import FORMATS, HINTS
from oplt.declarations import declared
from oplt.params import Settings, TextSettings
from tests.cli.running import refused, run
from tests.unit.codes import all_codes


def command(name: str) -> click.Command:
    found = main.get_command(click.Context(main), name)
    assert found is not None
    return found


def test_help_lists_all_commands_and_the_exit_codes() -> None:
    text = run("--help").stdout
    for name, says in COMMANDS.items():
        assert name in text
        assert says in " ".join(text.split())
    assert "Exit codes: 0 success; 1" in " ".join(text.split())


@pytest.mark.parametrize("name", COMMANDS)
def test_each_command_has_help_with_an_example_of_itself(name: str) -> None:
    assert command(name).name == name
    assert f"  oplt {name} " in run(name, "--help").stdout


@pytest.mark.parametrize("name", COMMANDS)
def test_each_option_has_help(name: str) -> None:
    options = [param for param in command(name).params if isinstance(param, click.Option)]
    assert [option.name for option in options if not option.help] == []


@pytest.mark.parametrize("name", COMMANDS)
def test_an_option_that_does_not_exist_is_wrong_usage(name: str) -> None:
    assert "No such option" in run(name, "--nonsense", code=2).stderr


def test_each_setting_is_an_option_with_its_default() -> None:
    text = "".join(run("train", "--help").stdout.split())  # lines may break anywhere
    for setting in (*declared(Settings), *declared(TextSettings)):
        if setting.name != "features":
            option = setting.name.replace("_", "-")
            _, found, rest = text.partition(f"--{option}")
            assert found
            told, _, rest = rest.partition("[default:")
            summary = setting.summary.replace("the arity", "--arity")
            assert "".join(summary.split()) in told
            default = rest.partition("]")[0]
            is_plain = isinstance(setting.default, (str, int, float)) and not isinstance(setting.default, bool)
            assert default == (
                str(setting.default)
                if is_plain
                else {True: option, False: f"no-{option}", None: "none"}.get(setting.default, "1,1")
            )


def test_the_formats_are_those_of_the_library() -> None:
    assert FORMATS == files.FORMATS


def test_what_is_said_in_options_is_of_errors_and_options_that_there_are() -> None:
    """Error codes and options that no longer exist must not be referred to."""
    there = {name for one in COMMANDS for param in command(one).params for name in param.opts}
    for code, hint in HINTS.items():
        assert code in all_codes()
        words = hint.replace(",", " ").replace(".", " ").split()
        assert {word for word in words if word.startswith("--")} <= there


@pytest.mark.parametrize("module", ["numpy", "rich", "oplt._core"])
def test_help_needs_nothing_heavy(module: str) -> None:
    code = (
        "import sys; from oplt.cli import main; main(['--help'], standalone_mode=False);"
        f"sys.exit({module!r} in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, stdout=subprocess.DEVNULL)  # noqa: S603


def test_the_version_is_that_of_the_package() -> None:
    assert run("--version").stdout == f"oplt {oplt.__version__}\n"


def test_a_command_that_does_not_exist_is_wrong_usage() -> None:
    assert "No such command 'xyzzy'" in run("xyzzy", code=2).stderr


def test_a_misspelt_command_is_told_which_one_is_meant() -> None:
    assert refused("trian", code=2) == "there is no command 'trian'; did you mean 'train'?"


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_prints_a_script_and_how_to_keep_it(shell: str) -> None:
    result = run("completion", shell)
    assert "_OPLT_COMPLETE" in result.stdout
    assert f"oplt completion {shell}" in result.stderr
    assert run("completion", shell, "-q").stderr == ""


def test_completion_of_another_shell_is_wrong_usage() -> None:
    assert "tcsh" in run("completion", "tcsh", code=2).stderr


def test_completion_knows_commands_without_importing_them() -> None:
    found = main.shell_complete(click.Context(main), "pr")
    assert [item.value for item in found] == ["predict", "progressive", "promote"]


def test_a_setting_out_of_range_is_wrong_usage_in_one_line(texts: Path) -> None:
    message = refused("train", texts, "-m", texts.with_name("m.oplt"), "--arity", 0, code=2)
    assert message == "--arity must be at least 2, got 0"
