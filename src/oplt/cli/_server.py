# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""Commands that use the model of a server instead of a model file."""

from __future__ import annotations

import copy
import hashlib
import json
import os
import re
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from oplt.cli._console import WrongUsageError
from oplt.cli._options import Option, refuse_with
from oplt.errors import InvalidInputError

if TYPE_CHECKING:
    from typing_extensions import Self  # part of Python since 3.11

    from oplt._typing import Label
    from oplt.client import Client
    from oplt.files import Batch

__all__ = [
    "MOST_LABELS",
    "Keys",
    "Server",
    "expect_argument",
    "refuse_model",
    "refuse_with_server",
    "refuse_without_server",
    "server_option",
    "server_options",
]

MOST_LABELS = 1000  # that a server returns for one example
_SECTION = "Use a server"
_MOST_EXAMPLES = 500  # of one request
_MOST_BYTES = 4 << 20  # of one request, about; the server takes 16 MB
_PATIENCE = 40  # attempts while the server is busy or restarts: about three minutes
_ADDRESS = re.compile(r"(?P<url>https?://[^/?#]+)/*(v1/*(models/(?P<model>[^/?#]+)/*)?)?", re.IGNORECASE)


def server_option(*names: str, **attributes: Any) -> Callable[[Any], Any]:
    """Add an option that needs --server to a command."""
    return click.option(*names, cls=Option, section=_SECTION, **attributes)


def server_options(says: str) -> Callable[[Any], Any]:
    """Add the options --server and --token-file to a command."""

    def decorate(function: Any) -> Any:
        address = server_option("--server", metavar="URL", help=says)
        token = server_option(
            "--token-file",
            metavar="FILE",
            type=click.Path(path_type=Path),
            help="File with the token, if the server requires one.  [default: the variable OPLT_TOKEN]",
        )
        return address(token(function))

    return decorate


def refuse_with_server(**reasons: str) -> None:
    """Refuse options, given by the names of their parameters, that were passed together with --server."""
    refuse_with("--server", **reasons)


def refuse_model(path: str) -> str:
    """Refuse a model file where, with --server, only data is expected. Returns the path otherwise."""
    from oplt.persistence import MODEL

    if Path(path).is_file():
        with Path(path).open("rb") as file:
            if file.read(len(MODEL.magic)) == MODEL.magic:
                raise WrongUsageError(
                    f"{path} is a model, but with --server only DATA is passed: the server has the model. If it has"
                    " several, pass --server http://HOST:PORT/v1/models/NAME."
                )
    return path


def refuse_without_server() -> None:
    """Refuse options that have no effect without --server."""
    context = click.get_current_context()
    for parameter in context.command.params:
        given = context.params.get(parameter.name or "")
        if given is not None and getattr(parameter, "section", "") == _SECTION:
            raise WrongUsageError(f"{max(parameter.opts, key=len)} needs --server: a model file has no use for it")


def expect_argument(name: str, given: Any) -> None:
    """Report a missing argument as Click does, for arguments that only some uses of a command need."""
    if not given:
        context = click.get_current_context()
        parameter = next(one for one in context.command.params if one.name == name)
        raise click.MissingParameter(ctx=context, param=parameter)


class Server:
    """The model of a server, as commands use it. It is a context manager.

    Parameters
    ----------
    address
        The address of a server, or of one of its models, as in ``http://host:8000/v1/models/parts``.
    token_file
        A file with the token; if not given, the variable OPLT_TOKEN may hold it.
    """

    def __init__(self, address: str, token_file: Path | None) -> None:
        from oplt.client import Client

        found = _ADDRESS.fullmatch(address)
        if found is None:
            http = f". Did you mean http://{address}?" if re.fullmatch(r"[\w.-]+:\d+(/.*)?", address) else ""
            raise WrongUsageError(
                "--server must be the address of a server, such as http://127.0.0.1:8000, or of one of its models, such"
                f" as http://127.0.0.1:8000/v1/models/NAME, got {address!r}{http}"
            )
        self.address = address
        token = os.environ.get("OPLT_TOKEN") if token_file is None else token_file.read_text(encoding="utf-8").strip()
        self._client: Client = Client(found["url"], token=token, model=found["model"], retries=_PATIENCE)
        self.takes: str | None = None  # "text" or "features"; None if the token does not allow to ask
        self.position: int | None = None  # the last one of its journal; None if the token does not allow to ask
        try:
            with Client(found["url"], token=token, model=found["model"], retries=2) as quick:
                self._ask(quick)
        except BaseException:
            self._client.close()
            raise

    def _ask(self, client: Client) -> None:
        from oplt.client import ServerError

        try:
            with _explained():
                about = client.model()
        except ServerError as error:
            if error.code != "token-not-sufficient":
                raise
            return
        self.takes = "text" if about["takes"] == "texts" else "features"
        self.position = int(about["journal"])

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._client.close()

    def predict(self, batch: Batch, k: int | None, **options: Any) -> list[list[tuple[Label, float]]]:
        """Predict the labels of a batch."""
        found: list[list[tuple[Label, float]]] = []
        for part in _parts(batch):
            with _explained(part):
                found += self._client.predict_many([x for x, _, _ in part], k, **options)
        return found

    def listed(self, path: Path) -> list[Label]:
        """Read a list of labels. Only the server knows whether "7" is a string or a number there, so both are sent."""
        from oplt.model import OnlinePLT
        from oplt.validation import twin

        names = OnlinePLT().labels.read(path)  # as they are written, since this model knows none of them
        return [form for name in names for form in (name, twin(name)) if form is not None]

    def learn(self, batch: Batch, keys: Keys) -> Iterator[list[int]]:
        """Learn a batch, part by part. Yields the positions in the journal of the server."""
        for part in _parts(batch):
            with _explained(part):
                examples = [(*example, key) for example, key in zip(part, keys.of(part), strict=True)]
                yield self._client.learn_batch(examples)


class Keys:
    """Idempotency keys of examples, so that a command that is repeated adds only what the server does not have.

    The key of an example is a digest of the name of its file, without folders, and of all examples of the file up to
    this one. So it depends neither on batches nor on what is appended to the file later. A file that is passed twice is
    learned twice. Standard input can bring the same examples again on purpose: its keys are only good for this run.

    Parameters
    ----------
    name
        A name for what is sent; another name means that the same examples are to be learned again.
    is_repeatable
        Whether the same command reads the same examples.
    """

    def __init__(self, name: str | None, *, is_repeatable: bool) -> None:
        self._name = name or ("" if is_repeatable else uuid.uuid4().hex)
        self._begun: list[str] = []  # the files so far
        self._number = 0  # the line of the latest example
        self._digest = b""

    def of(self, batch: Batch) -> Iterator[str]:
        """Return the keys of the examples of the next batch."""
        if not self._begun or batch.source != self._begun[-1] or batch.numbers[0] <= self._number:
            self._begun.append(batch.source)
            seed = [self._name, Path(batch.source).name, self._begun.count(batch.source)]
            self._digest = json.dumps(seed).encode()
        self._number = int(batch.numbers[-1])
        for x, labels, weight in batch:
            content = json.dumps([x, labels, weight]).encode()
            self._digest = hashlib.blake2b(self._digest + content, digest_size=16).digest()
            yield self._digest.hex()


def _parts(batch: Batch) -> Iterator[Batch]:
    """Split a batch into requests."""
    begin, n_bytes = 0, 0
    for i, (x, _, _) in enumerate(batch):
        size = _size(x)
        if i > begin and (i - begin == _MOST_EXAMPLES or n_bytes + size > _MOST_BYTES):
            yield batch.part(begin, i)
            begin, n_bytes = i, 0
        n_bytes += size
    if begin < len(batch):
        yield batch.part(begin)


def _size(x: Any) -> int:
    """Estimate the bytes of an example in a request."""
    if isinstance(x, str):
        return 2 * len(x)
    return sum(30 + (2 * len(value) if isinstance(value, str) else 0) for value in x.values())


@contextmanager
def _explained(batch: Batch | None = None) -> Iterator[None]:
    """Add to an error of the server what users of a command can do about it, and which examples were sent."""
    from oplt.client import ServerError

    try:
        yield
    except ServerError as error:
        shown = copy.copy(error)
        what, shown.hint = _IN_WORDS.get(error.code) or _IN_WORDS.get(str(error.status)) or ("", error.hint)
        shown.what = what or error.what.removesuffix(" Try again later.").removesuffix(".")
        if batch is not None and error.status in (400, 413):
            shown.where = _lines_of(batch)
        raise shown from None
    except UnicodeEncodeError:
        what = "a text or a name has an unpaired surrogate, which UTF-8 cannot represent"
        raise InvalidInputError("not-utf-8", what, where=None if batch is None else _lines_of(batch)) from None


def _lines_of(batch: Batch) -> str:
    first, last = int(batch.numbers[0]), int(batch.numbers[-1])
    return f"{batch.source}, {batch.unit}" + (f" {first}" if first == last else f"s {first} to {last}")


_AGAIN = "Run the command again later; if it sends files, what the server has accepted is not learned twice."
_IN_WORDS = {  # errors by code or status: what is wrong, if the server's words are of no use here, and what to do
    "token-missing": ("the server requires a valid token", "Set the variable OPLT_TOKEN, or pass --token-file."),
    "token-not-sufficient": ("", "The command needs a token with the scope predict or learn; see oplt token."),
    "no-such-model": ("the server has no model of this name", "GET /v1/models lists the names."),
    "is-follower": ("this server follows another one and does not learn by itself", "Pass the address of its leader."),
    "413": ("an example is too large for the server", None),
    "429": ("", _AGAIN),
    "503": ("", _AGAIN),
}
