# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""The server keeps what its OpenAPI description promises, whatever it is sent: schemathesis makes the requests."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from hypothesis.errors import Unsatisfiable
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from tests.service.processes import serving
from tests.service.running import new_folder, served

# For each address: 15 with the slow profile.
SHARE = 3 / 8  # of the examples of other tests
CHECKS = [not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance]


@pytest.fixture(scope="module")
def http(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    folder: Path = new_folder(tmp_path_factory.mktemp("openapi"), texts=True)
    with served(folder) as model, serving({"tags": model}) as client:
        example = {"text": "heap overflow", "labels": ["memory"]}
        client.post("/v1/learn", json={"examples": [example] * 20})
        yield client


@pytest.mark.parametrize("mode", list(GenerationMode))
def test_answers_are_as_described(http: httpx.Client, mode: GenerationMode) -> None:
    description = schemathesis.openapi.from_url(f"{http.base_url}/openapi/openapi.json")
    paths = []
    for found in description.get_all_operations():
        operation = found.ok()
        if operation.path.startswith("/v1/models/{model}/") and not operation.path.endswith("/predict"):
            continue  # the same handlers as without a name

        @settings(max_examples=int(SHARE * settings.default.max_examples), suppress_health_check=list(HealthCheck))
        @given(case=operation.as_strategy(generation_mode=mode))
        def run(case: Any) -> None:
            if case.path.endswith("/journal") and isinstance(case.query, dict):
                case.query.pop("wait", None)
            case.call_and_validate(checks=CHECKS)

        try:
            run()
        except Unsatisfiable:  # an address without parameters cannot be used wrongly
            assert mode is GenerationMode.NEGATIVE, operation.path
        paths.append(operation.path)
    assert len(paths) >= 17


def test_the_description_is_complete(http: httpx.Client) -> None:
    found = http.get("/openapi/openapi.json").json()
    assert found["openapi"].startswith("3.1")
    for path, operations in found["paths"].items():
        for operation in operations.values():
            assert operation["summary"], path
            assert operation["description"], path
