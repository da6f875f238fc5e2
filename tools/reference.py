# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""Write the pages of docs/reference/ that have another source: settings, commands and HTTP addresses.

    .venv/bin/python tools/reference.py

They are part of the repository, where they can be read and linked to; the tests fail if they are not up to date.
"""

from __future__ import annotations

import asyncio
import inspect
import json
import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any
from unittest.mock import MagicMock

import click

from oplt.cli import COMMANDS, main
from oplt.declarations import Setting, declared
from oplt.params import PRESETS, BatchSettings, Settings, TextSettings

HERE = Path(__file__).parents[1] / "docs" / "reference"
NOTE = "<!-- Written by tools/reference.py: change the source, not this page. -->"

Json = dict[str, Any]


# Settings: from their declarations in oplt.params


def settings_page() -> str:
    """Describe all settings of models and of text features."""
    return _page(
        "Settings",
        "Every setting is a keyword of a Python class and, with dashes instead of underscores, an option of"
        " [`oplt train`](command-line.md#oplt-train): `label_memory=0` is `--label-memory 0`. A setting that is on by"
        " default has an option that turns it off: `bias=False` is `--no-bias`.",
        "[The default settings](../explanation/defaults.md) explains how the defaults were chosen.",
        "## Models that learn online",
        "Keywords of [`OnlinePLT`](python.md#oplt.OnlinePLT). The class methods "
        + " and ".join(f"`OnlinePLT.{name}()` (in the shell, `--{name}`)" for name in sorted(PRESETS))
        + " have other defaults, which are listed beside those of `OnlinePLT()`.",
        *_settings(declared(Settings), presets=True),
        "## Batch training",
        "Keywords of [`PLT.fit`](python.md#oplt.PLT).",
        *_settings(declared(BatchSettings)),
        "## Text features",
        "Keywords of [`oplt.text.TextFeatures`](modules.md#oplt.text).",
        *_settings(declared(TextSettings)),
    )


def _settings(settings: Iterable[Setting], *, presets: bool = False) -> Iterator[str]:
    rows = []
    for one in settings:
        changed = [f"{name}: `{value!r}`" for name, value in one.presets.items() if value != one.default]
        default = f"`{one.default!r}`" + "".join(f"<br>{each}" for each in changed if presets)
        about = _markdown(f"{one.summary} {one.details}".strip())
        rows.append((f"`{one.name}`", one.check.kind, default, about))
    yield _table(("setting", "values", "default", "meaning"), rows)


# Commands: from their Click objects


def commands_page() -> str:
    """Describe all commands and their options."""
    context = click.Context(main, info_name="oplt")
    parts = [
        "`oplt COMMAND --help` prints the same in the terminal. [How to work in the shell](../howto/command-line.md)"
        " shows the commands at work, and lists the [exit codes](../howto/command-line.md#errors-and-exit-codes).",
        _table(("command", "what it does"), [(f"[`{name}`](#oplt-{name})", says) for name, says in COMMANDS.items()]),
    ]
    for name in COMMANDS:
        command = main.get_command(context, name)
        assert command is not None  # noqa: S101 (our own list)
        parts += _command(command, f"oplt {name}", context, "##")
    return _page("Command line", *parts)


def _command(command: click.Command, name: str, parent: click.Context, heading: str) -> Iterator[str]:
    context = click.Context(command, info_name=name.rpartition(" ")[2], parent=parent)
    yield f"{heading} {name}"
    yield f"```text\n{name} {' '.join(command.collect_usage_pieces(context))}\n```"
    yield from _help(command.help or "")
    sections: dict[str, list[tuple[str, str]]] = {}
    for param in command.get_params(context):
        record = param.get_help_record(context) if isinstance(param, click.Option) else None
        if record is not None:
            option, about = record
            if "--help" in param.opts:  # Click keeps the names of the first context that it was asked with
                option = ", ".join(main.context_settings["help_option_names"])
            row = (f"`{option}`".replace("|", "\\|"), _markdown(re.sub(r" +", " ", about)))
            sections.setdefault(getattr(param, "section", "Options"), []).append(row)
    for section, rows in sections.items():
        yield _table((section, ""), rows)
    if isinstance(command, click.Group):
        for sub in command.list_commands(context):
            found = command.get_command(context, sub)
            if found is not None:
                yield from _command(found, f"{name} {sub}", context, f"{heading}#")


def _help(text: str) -> Iterator[str]:
    """Convert the help of a command; paragraphs that begin with a backspace character stay as they are."""
    for paragraph in inspect.cleandoc(text).split("\n\n"):
        if paragraph.startswith("\b"):
            yield f"```text\n{inspect.cleandoc(paragraph.removeprefix(chr(8)).strip(chr(10)))}\n```"
        elif paragraph.strip():
            yield _markdown(" ".join(paragraph.split()))


# HTTP: from the OpenAPI description of the server


def http_page() -> str:
    """Describe all addresses and the objects that they take and return."""
    api = asyncio.run(_openapi())
    ours = {path: ways for path, ways in api["paths"].items() if not path.startswith("/v1/models/{")}
    parts = [
        f"The server describes itself: `GET /openapi/openapi.json` is an OpenAPI {api['openapi'].rpartition('.')[0]}"
        " document, from which this page is made. [Run a server](../howto/serve.md) shows how to use it, and which"
        " token each address takes. If a server has several models, each of the addresses `/v1/…` also exists as"
        " `/v1/models/{model}/…`, for the model of that name.",
        "Errors are [`ErrorAnswer`](#erroranswer) objects; [Errors](../errors.md#the-service) lists their codes. The"
        " statuses mean:",
        _table(("status", "meaning"), sorted(_statuses(ours))),
        "## Addresses",
    ]
    for path, ways in ours.items():
        for way, operation in ways.items():
            parts += _operation(f"{way.upper()} {path}", operation)
    parts.append("## Objects")
    for name, schema in sorted(api["components"]["schemas"].items()):
        parts += _object(name, schema)
    return _page("HTTP", *parts)


def _object(name: str, schema: Json) -> Iterator[str]:
    yield f"### {name}"
    yield _markdown(schema.get("description", ""))
    needed = schema.get("required", [])
    rows = [
        (f"`{field}`", _type(own), "yes" if field in needed else _default(own), _markdown(own.get("description", "")))
        for field, own in schema.get("properties", {}).items()
    ]
    yield _table(("field", "type", "required, or default", ""), rows)


async def _openapi() -> Json:
    """Ask the application, which needs no model for that."""
    import httpx

    from oplt.service.app import make_app

    transport = httpx.ASGITransport(make_app({"model": MagicMock()}))
    async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
        return json.loads((await client.get("/openapi/openapi.json")).text)  # type: ignore[no-any-return]


def _statuses(paths: Json) -> set[tuple[str, str]]:
    return {
        (f"`{status}`", _markdown(answer["description"]))
        for ways in paths.values()
        for operation in ways.values()
        for status, answer in operation["responses"].items()
        if status >= "400" and answer["content"]["application/json"]["schema"]["$ref"].endswith("/ErrorAnswer")
    }


def _operation(name: str, operation: Json) -> Iterator[str]:
    yield f"### {name}"
    yield _markdown(operation.get("description") or operation["summary"])
    parameters = operation.get("parameters", [])
    if parameters:
        rows = [
            (
                f"`{one['name']}`",
                one["in"],
                _type(one["schema"]),
                "yes" if one["required"] else _default(one["schema"]),
                _markdown(one.get("description", "")),
            )
            for one in parameters
        ]
        yield _table(("parameter", "in", "type", "required, or default", ""), rows)
    lines = [f"- Request: {_content(operation['requestBody'])}"] if "requestBody" in operation else []
    lines += [
        f"- Answer {status}: {_content(answer)}"
        for status, answer in operation["responses"].items()
        if status < "400" or (status == "503" and name.endswith("/readyz"))
    ]
    yield "\n".join(lines)


def _content(body: Json) -> str:
    found = [f"{_type(content.get('schema', {}))} (`{kind}`)" for kind, content in body.get("content", {}).items()]
    return " or ".join(found) or "empty"


def _type(schema: Json) -> str:
    """Say in a few words what a JSON schema allows."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return f"[{name}](#{name.lower()})"
    for key in ("oneOf", "anyOf", "allOf"):
        if key in schema:
            return " or ".join(dict.fromkeys(_type(one) for one in schema[key]))
    if "enum" in schema:
        return ", ".join(f"`{value}`" for value in schema["enum"])
    return _type_of_values(schema)


def _type_of_values(schema: Json) -> str:
    kind = schema.get("type", "any")
    if kind == "array" and "prefixItems" in schema:
        return f"[{', '.join(_type(one) for one in schema['prefixItems'])}]"
    if kind == "array":
        return f"array of {_type(schema.get('items', {}))}"
    if kind == "object" and isinstance(schema.get("additionalProperties"), dict):
        values = _type(schema["additionalProperties"])
        return "object" if values == "any" else f"object whose values are {values}"
    limits = [
        f"{sign} {schema[key]:,.0f}"
        for key, sign in (("minimum", "≥"), ("maximum", "≤"))
        if isinstance(schema.get(key), int | float) and abs(schema[key]) < 2**40
    ]
    return " ".join([str(kind), *limits])


def _default(schema: Json) -> str:
    return f"`{json.dumps(schema['default'])}`" if "default" in schema else "no"


# Markdown


def _page(title: str, *parts: str) -> str:
    return "\n\n".join([NOTE, f"# {title}", *(part for part in parts if part)]) + "\n"


def _table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    lines = [head, ("---",) * len(head), *rows]
    return "\n".join(f"| {' | '.join(' '.join(cell.split()) for cell in line)} |" for line in lines)


def _markdown(text: str) -> str:
    """Escape what Markdown and tables would change, outside of code."""
    text = re.sub(r"``(.+?)``", r"`\1`", text)
    parts = re.split(r"(`[^`]*`)", text)
    for i, part in enumerate(parts):
        escaped = part if i % 2 else re.sub(r"([<*_\[\]])", r"\\\1", part)
        parts[i] = escaped.replace("|", "\\|")
    return "".join(parts)


PAGES: dict[str, Callable[[], str]] = {
    "settings.md": settings_page,
    "command-line.md": commands_page,
    "http.md": http_page,
}


def write() -> None:
    """Write all pages."""
    HERE.mkdir(exist_ok=True)
    for name, make in PAGES.items():
        (HERE / name).write_text(make(), encoding="utf-8")
        print(HERE / name)


if __name__ == "__main__":
    write()
