# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""Whether the server works: `/healthz`, `/readyz`, `/metrics`, and the names of its models."""

from __future__ import annotations

from typing import Any

from litestar import Request, Response, get
from litestar.openapi.datastructures import ResponseSpec

from oplt.service.answers import ERRORS
from oplt.service.routes._common import in_thread
from oplt.service.structs import Health, ModelsAnswer

__all__ = ["healthz", "metrics", "models", "readyz"]

_NOT_READY = {503: ResponseSpec(Health, description="Not ready, with the reasons.", generate_examples=False)}


@get("/healthz", summary="Whether the process runs")
async def healthz() -> Health:
    """Answer as long as the process runs."""
    return Health("ok", [])


@get("/readyz", responses=_NOT_READY, summary="Whether the server is ready")
async def readyz(request: Request[Any, Any, Any]) -> Response[Health]:
    """Answer 200 if all models have learned their journals and work, otherwise 503 with the reasons."""
    reasons = [
        f"{name}: {reason}"
        for name, served in request.app.state.models.items()
        for reason in served.reasons_not_ready()
    ]
    return Response(Health("not ready" if reasons else "ok", reasons), status_code=503 if reasons else 200)


@get("/metrics", opt={"scope": "predict"}, media_type="text/plain", responses=ERRORS, summary="Metrics")
async def metrics(request: Request[Any, Any, Any]) -> Response[bytes]:
    """Return metrics in the format of Prometheus."""
    found = await in_thread(request, request.app.state.metrics.text)
    return Response(found, media_type="text/plain; version=0.0.4; charset=utf-8")


@get("/v1/models", opt={"scope": "predict"}, responses=ERRORS, summary="List models")
async def models(request: Request[Any, Any, Any]) -> ModelsAnswer:
    """List the models of this server; /v1/models/NAME/... are their addresses."""
    return ModelsAnswer(list(request.app.state.models))
