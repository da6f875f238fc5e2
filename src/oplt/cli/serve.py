# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""`oplt serve`: a server that learns and predicts."""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from oplt.cli._console import WrongUsageError, note, quiet_option
from oplt.cli._options import Command, Option, Seconds
from oplt.errors import MissingPackageError

if TYPE_CHECKING:
    from oplt.service.served_model import ServedModel
    from oplt.service.settings import ServingSettings

__all__ = ["command"]

Decorated = Callable[..., Any]
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


def _option(section: str, *names: str, **kwargs: Any) -> Callable[[Decorated], Decorated]:
    return click.option(*names, cls=Option, section=section, **kwargs)


_FILE = click.Path(path_type=Path, exists=True, dir_okay=False)


@click.command("serve", cls=Command)
@click.argument("models", metavar="[NAME=]MODEL...", nargs=-1, required=True)
@click.option(
    "--new",
    type=click.Choice(["text", "features"]),
    help="Start with an empty model if MODEL does not exist; it takes texts or features.",
)
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on. Others need --tokens.")
@click.option("--port", type=click.IntRange(0, 65535), default=8000, show_default=True, help="0: any free port.")
@click.option(
    "--threads",
    type=click.IntRange(min=1),
    metavar="N",
    default=1,
    show_default=True,
    help="Number of threads for learning; it does not affect the result.",
)
@quiet_option
@_option(
    "Safety",
    "--durability",
    type=click.Choice(["full", "second", "os"]),
    default="full",
    show_default=True,
    help="When an example is acknowledged: full: it is on disk. second: a power failure may lose the last second."
    " os: it may lose what the system has not written yet, usually up to 30 seconds.",
)
@_option("Safety", "--tokens", type=_FILE, help="File of tokens, made by oplt token.")
@_option("Safety", "--tls-cert", type=_FILE, help="Certificate for HTTPS, in PEM format.")
@_option("Safety", "--tls-key", type=_FILE, help="Key of the certificate.")
@_option("Snapshots", "--snapshot-records", type=click.IntRange(min=1), metavar="N", default=50_000, show_default=True,
         help="Write a snapshot every N records.")  # fmt: skip
@_option("Snapshots", "--snapshot-seconds", type=Seconds(), metavar="N", default=300, show_default=True,
         help="Write a snapshot every N seconds if anything is new.")  # fmt: skip
@_option("Snapshots", "--keep-snapshots", type=click.IntRange(min=2), metavar="N", default=5, show_default=True,
         help="Keep the last N snapshots, and the first one.")  # fmt: skip
@_option("Snapshots", "--keep-journal", type=click.IntRange(min=0), metavar="N",
         help="Keep the last N records, and all that recovery needs.  [default: all]")  # fmt: skip
@_option("Load", "--max-pending", type=click.IntRange(min=1), metavar="N", default=20_000, show_default=True,
         help="Number of examples that may wait to be learned; more are refused with 429.")  # fmt: skip
@_option(
    "Following", "--follow", metavar="URL", help="Follow the server at URL: learn its journal, answer predictions."
)
@_option("Following", "--follow-token", type=_FILE, metavar="FILE",
         help="File with a token of that server that allows admin.  [default: the variable OPLT_TOKEN]")  # fmt: skip
def command(models: tuple[str, ...], host: str, port: int, **options: Any) -> None:
    """Serve models over HTTP: they learn what they are sent, and lose nothing in a crash.

    \b
      oplt serve tags.oplt
      oplt serve tags.oplt --new text --port 8001
      oplt serve tickets=a.oplt parts=b.oplt

    POST /v1/learn and /v1/predict take JSON; GET /openapi/openapi.json describes all addresses.

    What is learned is kept in the folder MODEL.served; the file MODEL is only read the first time. Later, either the
    file or the folder may be given. The server stops on SIGTERM or Ctrl-C, after writing a snapshot.
    """
    try:
        from oplt.service.server import Address, expect_tokens, listen, run
        from oplt.service.settings import ServingSettings
        from oplt.service.tokens import Tokens
    except ModuleNotFoundError as error:
        raise MissingPackageError(
            "package-missing", f"oplt serve needs the package {error.name}", hint="Run: pip install 'oplt[serve]'"
        ) from None
    named = _named(models)
    if options["follow"] is not None and len(named) > 1:
        raise WrongUsageError("--follow serves one model: pass a single MODEL")
    if (options["tls_cert"] is None) != (options["tls_key"] is None):
        raise WrongUsageError("--tls-cert and --tls-key belong together: pass both")
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    logging.getLogger("httpx").setLevel(logging.WARNING)
    logging.captureWarnings(capture=True)
    settings = ServingSettings(
        **{name: options[name] for name in ServingSettings.__dataclass_fields__ if name in options}
    )
    tokens = None if options["tokens"] is None else Tokens(options["tokens"])
    address = Address(host, port, options["tls_cert"], options["tls_key"])
    expect_tokens(address, tokens)
    # The address comes first: if it is taken, no model has been taken over.
    with listen(address) as listening, ExitStack() as stack:
        served = {}
        for name, path in named.items():
            served[name] = _opened(name, path, settings, options, stack)
            stack.callback(served[name].close)
        started = f"Serving {', '.join(served)} at "
        run(served, address, listening, tokens=tokens, on_start=lambda url: note(f"{started}{url}"))
    note("Stopped.")


def _named(models: tuple[str, ...]) -> dict[str, Path]:
    found: dict[str, Path] = {}
    for given in models:
        name, sign, path = given.partition("=")
        if not sign or not _NAME.fullmatch(name):
            path = given
            stem = Path(given).name.removesuffix(".served").removesuffix(".oplt")
            name = stem if _NAME.fullmatch(stem) else f"model-{len(found) + 1}"
        if name in found:
            raise WrongUsageError(f"two models are called {name!r}: pass NAME=MODEL")
        found[name] = Path(path)
    return found


def _opened(name: str, path: Path, settings: ServingSettings, options: dict[str, Any], stack: ExitStack) -> ServedModel:
    from oplt.service.errors import NotFoundError
    from oplt.service.folder import SUFFIX, prepare_folder, start_empty
    from oplt.service.served_model import ServedModel

    if options["follow"] is None:
        is_new = options["new"] is not None and not path.exists()
        if not (is_new or path.exists() or path.with_name(path.name + SUFFIX).is_dir()):
            hint = "Add --new text, or --new features, to start with an empty model."
            raise NotFoundError("no-such-model", "there is no such file", where=str(path), hint=hint)
        folder = start_empty(path, texts=options["new"] == "text") if is_new else prepare_folder(path)
        return ServedModel(folder, settings, name=name)
    from oplt.service.follower import Follower, Leader, bootstrap

    folder = path if path.is_dir() or path.name.endswith(".served") else path.with_name(path.name + ".served")
    leader = Leader(options["follow"], _token(options["follow_token"]))
    bootstrap(folder, leader, settings.durability)
    served = ServedModel(folder, settings, name=name)
    stack.callback(Follower(served, leader).close)
    return served


def _token(path: Path | None) -> str | None:
    return os.environ.get("OPLT_TOKEN") if path is None else path.read_text(encoding="utf-8").strip()
