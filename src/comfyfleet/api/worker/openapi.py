"""The worker endpoints in the same OpenAPI document as everything else."""

from typing import Any

import msgspec
from fastapi import FastAPI

from comfyfleet.api.worker.endpoints import ENDPOINTS, PREFIX

REF = "#/components/schemas/Worker{name}"
ERROR: dict[str, Any] = {
    "description": "What was wrong.",
    "content": {"application/json": {"schema": {"$ref": "#/components/schemas/ErrorBody"}}},
}
STATUSES = ("400", "401", "403", "404", "409", "413", "422", "429", "503")


def describe_worker_endpoints(app: FastAPI) -> None:
    """FastAPI makes the document when it is asked for; what it does not route is added then."""
    made_by_fastapi = app.openapi

    def openapi() -> dict[str, Any]:
        if app.openapi_schema is None or "x-worker" not in app.openapi_schema["info"]:
            document = made_by_fastapi()
            _add(document)
            app.openapi_schema = document
        return app.openapi_schema

    app.openapi = openapi  # type: ignore[method-assign]


def _add(document: dict[str, Any]) -> None:
    kinds = [kind for endpoint in ENDPOINTS.values() for kind in (endpoint.request, endpoint.reply)]
    shapes, named = msgspec.json.schema_components(kinds, ref_template=REF)
    parts = document.setdefault("components", {})
    parts.setdefault("schemas", {}).update({f"Worker{name}": schema for name, schema in named.items()})
    parts.setdefault("securitySchemes", {}).update(
        {
            "worker": {"type": "http", "scheme": "bearer", "description": "The token a worker got at registration."},
            "fleet": {"type": "apiKey", "in": "header", "name": "X-Fleet-Secret", "description": "A fleet secret."},
        }
    )
    for number, (name, endpoint) in enumerate(ENDPOINTS.items()):
        operation = {
            "tags": ["worker"],
            "summary": endpoint.summary,
            "operationId": f"worker_{name}",
            "security": [{"fleet": []} if endpoint.by_secret else {"worker": []}],
            "requestBody": {"required": True, "content": {"application/json": {"schema": shapes[2 * number]}}},
            "responses": {
                "200": {"description": "Done.", "content": {"application/json": {"schema": shapes[2 * number + 1]}}},
                **dict.fromkeys(STATUSES, ERROR),
            },
        }
        document["paths"][f"{PREFIX}{name}"] = {"post": operation}
    document["info"]["x-worker"] = "v1"
