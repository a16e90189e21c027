"""A tenant's storage limit over HTTP: set by operators, shown to the tenant, and refused in words."""

import httpx2
import pytest

from comfyfleet.house import House
from tests.api import ordering
from tests.api.asking import fault
from tests.builders import Member, a_member, an_operator_key


@pytest.fixture
async def member(house: House) -> Member:
    return await a_member(house)


def a_file(size: int) -> dict[str, object]:
    return {"name": "a.bin", "mime_type": "application/octet-stream", "size": size}


async def test_a_limit_is_set_shown_and_kept(client: httpx2.AsyncClient, house: House, member: Member) -> None:
    operator = await an_operator_key(house)
    address = f"/api/admin/tenants/{member.tenant.id}"
    unlimited = (await client.get("/api/storage", headers=member.headers)).json()
    assert unlimited == {"used_bytes": 0, "limit_bytes": None}
    limited = await client.put(f"{address}/storage-limit", json={"storage_bytes_max": 100}, headers=operator)
    assert (limited.status_code, limited.json()["storage_bytes_max"]) == (200, 100)
    announced = await client.post("/api/files", json=a_file(60), headers=member.headers)
    for path, body in (("/api/files", a_file(41)), ("/api/videos/uploads", {**a_file(41), "mime_type": "image/png"})):
        refused = await client.post(path, json=body, headers=member.headers)
        assert (refused.status_code, fault(refused)["code"]) == (422, "storage_quota_exceeded")
        assert fault(refused)["details"] == {"used_bytes": 60, "limit_bytes": 100, "wanted_bytes": 41}
    shown = {"used_bytes": 60, "limit_bytes": 100}
    assert (await client.get("/api/storage", headers=member.headers)).json() == shown
    assert (await client.get(f"{address}/storage", headers=operator)).json() == shown
    file_id = announced.json()["file"]["id"]
    assert (await client.delete(f"/api/files/{file_id}", headers=member.headers)).status_code == 204
    assert (await client.post("/api/files", json=a_file(100), headers=member.headers)).status_code == 201
    assert (await client.put(f"{address}/storage-limit", json={"storage_bytes_max": None}, headers=operator)).json()[
        "storage_bytes_max"
    ] is None
    assert (await client.post("/api/files", json=a_file(10**9), headers=member.headers)).status_code == 201


async def test_a_run_with_its_file_is_refused_too_and_leaves_nothing(
    client: httpx2.AsyncClient, house: House, member: Member
) -> None:
    await ordering.an_effect(house, "old-film", price=0)
    operator = await an_operator_key(house)
    address = f"/api/admin/tenants/{member.tenant.id}/storage-limit"
    await client.put(address, json={"storage_bytes_max": 10}, headers=operator)
    picture = b"\x89PNG\r\n\x1a\n" + bytes(200)
    refused = await client.post(
        "/api/effects/old-film/run",
        files={"file": ("a.png", picture, "image/png")},
        data={"properties": '{"prompt": "x"}'},
        headers=member.headers,
    )
    assert (refused.status_code, fault(refused)["code"]) == (422, "storage_quota_exceeded")
    assert (await client.get("/api/storage", headers=member.headers)).json()["used_bytes"] == 0
