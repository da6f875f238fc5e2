# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""The HTTP application. Addresses under /v1 mean the first model, those under /v1/models/NAME the one of that name."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import version
from typing import Any

from litestar import Litestar, Request, Router
from litestar.datastructures import State
from litestar.di import Provide
from litestar.openapi import OpenAPIConfig
from litestar.openapi.plugins import JsonRenderPlugin

from oplt.service.access import check_access
from oplt.service.answers import HANDLERS
from oplt.service.direct import Direct
from oplt.service.errors import NotFoundError
from oplt.service.limits import Limits
from oplt.service.metrics import Metrics
from oplt.service.page_files import PageFiles
from oplt.service.routes import journal, learning, models, predicting, server, tree
from oplt.service.served_model import ServedModel
from oplt.service.tokens import Tokens

__all__ = ["make_app"]

_OF_MODEL = [
    predicting.predict,
    predicting.explain,
    learning.learn,
    learning.learn_stream,
    learning.forget,
    models.model,
    models.labels,
    models.change_label,
    models.monitoring,
    tree.label_page,
    tree.tree,
    models.snapshots,
    models.create_snapshot,
    models.download_snapshot,
    models.roll_back,
    journal.journal,
    journal.promote,
]
_OF_SERVER = [server.healthz, server.readyz, server.metrics, server.models]
_THREADS = 16  # for predictions and what takes long; most wait
_FOLLOWERS = 16  # that can wait for records at the same time


def make_app(
    served: Mapping[str, ServedModel],
    *,
    tokens: Tokens | None = None,
    max_body: int = 16 << 20,
    timeout: float = 30.0,
) -> Any:
    """Make the ASGI application of a server.

    Parameters
    ----------
    served
        The models by name; the first one is the default.
    tokens
        Who may do what. Without it, requests must be addressed to the loopback address, and may do everything.
    max_body
        Largest size of a request in bytes; streams have no limit.
    timeout
        Seconds within which a request must arrive.
    """
    metrics = Metrics(served)
    default = next(iter(served.values()))

    async def provide_default() -> ServedModel:
        return default

    async def provide_named(request: Request[Any, Any, Any]) -> ServedModel:
        found = served.get(request.path_params["model"])
        if found is None:
            raise NotFoundError("no-such-model", "there is no model of this name", hint="GET /v1/models lists them.")
        return found

    app = Litestar(
        route_handlers=[
            *_OF_SERVER,
            Router("/v1", route_handlers=_OF_MODEL, dependencies={"served": Provide(provide_default)}),
            Router("/v1/models/{model:str}", route_handlers=_OF_MODEL, dependencies={"served": Provide(provide_named)}),
        ],
        guards=[check_access],
        exception_handlers=HANDLERS,
        request_max_body_size=max_body,
        state=State(
            {
                "models": dict(served),
                "tokens": tokens,
                "metrics": metrics,
                "pool": ThreadPoolExecutor(_THREADS, thread_name_prefix="oplt-http"),
                "waiting": ThreadPoolExecutor(_FOLLOWERS, thread_name_prefix="oplt-wait"),
            }
        ),
        openapi_config=OpenAPIConfig(
            title="oplt",
            version=version("oplt"),
            description="A model that learns what it is sent, and predicts labels.",
            path="/openapi",
            use_handler_docstrings=True,
            render_plugins=[JsonRenderPlugin(path="/openapi.json")],
        ),
        logging_config=None,
    )
    direct = Direct(PageFiles(app), served, tokens, app.state.pool, max_body)
    return Limits(direct, metrics, timeout=timeout, only_loopback=tokens is None)
