"""What the tests of the HTTP edge share: other addresses, what the API says of itself, and what must hold of errors."""

import asyncio
import copy
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import httpx2
import sqlalchemy as sa
from fastapi import FastAPI

from comfyfleet.db.tables import CENTRAL, TENANT
from comfyfleet.house import House
from comfyfleet.kernel.ids import new_id

Json = dict[str, Any]
ANSWER_WITHIN_S = 60.0


class InProcess(httpx2.ASGITransport):
    """In process an answer is whole before anybody sees it: a stream that does not end would never be seen."""

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        try:
            async with asyncio.timeout(ANSWER_WITHIN_S):
                return await super().handle_async_request(request)
        except TimeoutError:
            raise AssertionError(
                f"no answer to {request.method} {request.url.path}: is it an endless stream?"
            ) from None


def at(app: FastAPI, base_url: str = "http://localhost", *, address: str = "127.0.0.1") -> httpx2.AsyncClient:
    transport = InProcess(app=app, client=(address, 123))
    return httpx2.AsyncClient(transport=transport, base_url=base_url)


async def row_counts(house: House) -> dict[str, int]:
    """Of every table in every database: what must not change when a request is refused."""
    found = {}
    for database, metadata in [(house.central, CENTRAL), *((pool, TENANT) for pool in house.pools.values())]:
        async with database.engine.connect() as connection:
            for table in metadata.sorted_tables:
                counted = await connection.scalar(sa.select(sa.func.count()).select_from(table))
                found[f"{database.name}.{table.name}"] = int(counted or 0)
    return found


def fault(answer: httpx2.Response) -> Json:
    """The error, after checking that it has the one shape all errors have."""
    body = answer.json()
    assert set(body) == {"error"}, body
    assert set(body["error"]) == {"code", "message", "details"}, body
    assert isinstance(body["error"]["code"], str)
    assert body["error"]["code"]
    assert isinstance(body["error"]["message"], str)
    assert body["error"]["message"]
    assert isinstance(body["error"]["details"], dict)
    error: Json = body["error"]
    return error


@dataclass(frozen=True)
class Operation:
    """One line of the OpenAPI document, with its body's schema in one piece."""

    method: str
    path: str
    ids: tuple[str, ...]
    body: Json | None
    guarded: bool
    query_ids: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.method} {self.path}"

    @property
    def for_operators(self) -> bool:
        return self.path.startswith("/api/admin/")

    @property
    def for_workers(self) -> bool:
        return self.path.startswith("/api/worker/")

    def url(self, **ids: object) -> str:
        return self.path.format(**{name: ids.get(name) or new_id() for name in self.ids})

    @property
    def body_ids(self) -> list[tuple[str | int, ...]]:
        """Where its body names something by its id."""
        return list(_ids(self.body)) if self.body is not None else []

    def example(self) -> Json | None:
        """A body that passes every check; some values are new each time, for what must be unique."""
        return None if self.body is None else _example("", self.body)


def operations(app: FastAPI) -> list[Operation]:
    spec = app.openapi()
    return [
        Operation(
            method=method.upper(),
            path=path,
            ids=tuple(each["name"] for each in entry.get("parameters", []) if each["in"] == "path"),
            body=_body(spec, entry),
            guarded=bool(entry.get("security")),
            query_ids=tuple(each["name"] for each in entry.get("parameters", []) if _is_query_id(each)),
        )
        for path, entries in spec["paths"].items()
        for method, entry in entries.items()
    ]


def _is_query_id(parameter: Json) -> bool:
    return parameter["in"] == "query" and bool(list(_ids(parameter["schema"])))


def _ids(schema: Json, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    if schema.get("format") == "uuid":
        yield path
    for choice in schema.get("anyOf", []):
        yield from _ids(choice, path)
    for name, inner in schema.get("properties", {}).items():
        yield from _ids(inner, (*path, name))
    if "items" in schema:
        yield from _ids(schema["items"], (*path, 0))


def spots(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """Where the leaves of a body are."""
    children = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else None
    if children is None:
        yield path
        return
    for name, inner in children:
        yield from spots(inner, (*path, name))


def planted(body: Json, path: tuple[str | int, ...], value: Any) -> Json:
    """The same body with one leaf replaced."""
    changed: Any = copy.deepcopy(body)
    inner = changed
    for step in path[:-1]:
        inner = inner[step]
    inner[path[-1]] = value
    result: Json = changed
    return result


def _body(spec: Json, entry: Json) -> Json | None:
    content = entry.get("requestBody", {}).get("content", {}).get("application/json")
    return _whole(spec, content["schema"]) if content else None


def _whole(spec: Json, schema: Any) -> Any:
    if isinstance(schema, list):
        return [_whole(spec, each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    if "$ref" in schema:
        target: Any = spec
        for step in schema["$ref"].removeprefix("#/").split("/"):
            target = target[step]
        return _whole(spec, target)
    return {name: _whole(spec, each) for name, each in schema.items()}


def _example(name: str, schema: Json) -> Any:
    for choice in schema.get("anyOf", []):
        if choice.get("type") != "null":
            return _example(name, choice)
    if "enum" in schema:
        return schema["enum"][0]
    match schema.get("type"):
        case "object":
            return {each: _example(each, inner) for each, inner in schema.get("properties", {}).items()}
        case "array":
            return [_example(name, schema["items"])]
        case "integer":
            return int(schema.get("minimum", 1))  # OpenAPI writes 1.0
        case "number":
            return schema.get("minimum", 1.0)
        case "boolean":
            return False
        case "string":
            return _text(name, schema)
    raise AssertionError(f"teach _example what {name!r} looks like: {schema}")


def _text(name: str, schema: Json) -> str:
    known = {
        "email": f"user-{new_id()}@example.com",
        "password": "a long enough password",
        "slug": f"tenant-{new_id()}",
        "mime_type": "image/png",
        "pool": "main",
        "role": "member",
        "sha256": "0" * 64,
        "url": "https://example.com/hook",
        "worker_id": "i-1",
        "fleet_slug": "video",
        "stage": "production",
    }
    if "enum" in schema:
        return str(schema["enum"][0])
    if schema.get("format") == "uuid":
        return str(new_id())
    return known.get(name, "text")
