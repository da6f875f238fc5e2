# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""`POST /v1/predict` and `POST /v1/explain`."""

from __future__ import annotations

import asyncio
from concurrent.futures import Executor
from typing import Any

from litestar import Request, post
from litestar.params import JSONBody

from oplt.errors import InvalidInputError
from oplt.service.answers import ERRORS
from oplt.service.examples import Input, as_inputs_of
from oplt.service.routes._common import Served, in_thread, read_after
from oplt.service.served_model import ServedModel
from oplt.service.structs import Explain, Predict, Prediction, Predictions

__all__ = ["answer_predict", "explain", "predict"]

_FEW_LABELS = 20
_SHORT = 10_000  # characters or features


@post("/predict", status_code=200, opt={"scope": "predict"}, responses=ERRORS, summary="Predict labels")
async def predict(data: JSONBody[Predict], served: Served, request: Request[Any, Any, Any]) -> Predictions:
    """Predict the labels of one example or of several.

    `k` labels at most (5 if neither `k` nor `threshold` is given), those whose probability is at least `threshold`,
    only labels in `allow`, none in `deny`. `read_after` waits until that position of the journal has been learned.
    """
    return await answer_predict(served, data, request.app.state.pool)


@post("/explain", status_code=200, opt={"scope": "predict"}, responses=ERRORS, summary="Explain a prediction")
async def explain(data: JSONBody[Explain], served: Served, request: Request[Any, Any, Any]) -> dict[str, Any]:
    """Explain why a label has its probability: the path in the tree, the evidence of the label memory, the ranking."""
    return await in_thread(request, _explain, served, data)


def _explain(served: ServedModel, data: Explain) -> dict[str, Any]:
    (x,) = as_inputs_of([Input(data.text, data.features)], texts=served.texts)
    model, position = served.learner.state()
    return {**model.explain(x, data.label).to_dict(), "position": position}


async def answer_predict(served: ServedModel, data: Predict, pool: Executor) -> Predictions:
    """Answer a request.

    A short one is answered at once, if the model is not learning at this moment: handing it to another thread and back
    would take longer than the prediction itself.
    """
    await read_after(served, data.read_after)
    if _is_short(data) and not served.learner.is_in_call:
        return _predict(served, data)
    return await asyncio.get_running_loop().run_in_executor(pool, _predict, served, data)


def _is_short(data: Predict) -> bool:
    is_plain = data.examples is None and data.threshold is None and data.allow is None and data.deny is None
    return is_plain and (data.k or 0) <= _FEW_LABELS and len(data.text or "") + len(data.features or ()) < _SHORT


def _predict(served: ServedModel, data: Predict) -> Predictions:
    inputs = [Input(data.text, data.features)] if data.examples is None else data.examples
    if data.examples is not None and (data.text is not None or data.features is not None):
        raise InvalidInputError("text-and-features", "the request has both an example and 'examples'")
    xs = as_inputs_of(inputs, texts=served.texts)
    model, position = served.learner.state(data.read_after or 0)
    question: dict[str, Any] = {"threshold": data.threshold, "allow": data.allow, "deny": data.deny}
    rows = (
        [model.predict_one(xs[0], data.k, **question)] if len(xs) == 1 else model.predict_many(xs, data.k, **question)
    )
    found = [Prediction([label for label, _ in row], [float(p) for _, p in row]) for row in rows]
    return Predictions(found, position)
