"""Every operation may answer with an error, and all errors have one shape: said once, in the finished document.

Told to FastAPI as `responses`, it would make nine models for each route whenever an application is built: two thirds
of the time that takes.
"""

from http import HTTPStatus
from typing import Any

from fastapi import FastAPI
from pydantic.json_schema import models_json_schema

from comfyfleet.api.errors import ErrorBody

STATUSES = (400, 401, 403, 404, 409, 413, 422, 429, 503)
REF = "#/components/schemas/{model}"
# FastAPI's own idea of a 422, which nobody gets here.
REPLACED = ("HTTPValidationError", "ValidationError")


def describe_errors(app: FastAPI) -> None:
    made_by_fastapi = app.openapi

    def openapi() -> dict[str, Any]:
        if app.openapi_schema is None:
            document = made_by_fastapi()
            _add(document)
            app.openapi_schema = document
        return app.openapi_schema

    app.openapi = openapi  # type: ignore[method-assign]


def _add(document: dict[str, Any]) -> None:
    _, defined = models_json_schema([(ErrorBody, "serialization")], ref_template=REF)
    schemas = document.setdefault("components", {}).setdefault("schemas", {})
    schemas |= defined["$defs"]
    for name in REPLACED:
        schemas.pop(name, None)
    for path in document["paths"].values():
        for operation in path.values():
            operation["responses"] |= {str(status): _answer(status) for status in STATUSES}


def _answer(status: int) -> dict[str, Any]:
    schema = {"$ref": REF.format(model=ErrorBody.__name__)}
    return {"description": HTTPStatus(status).phrase, "content": {"application/json": {"schema": schema}}}
