"""Instances that register are asked for at AWS, where the settings say so. AWS away: they come in, and that is kept."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest
import sqlalchemy as sa
from fastapi import FastAPI

from comfyfleet.db.tables import worker_audit_log
from comfyfleet.house import House
from tests.api.worker.conftest import Yard
from tests.server import free_port

KNOWN = "i-0known"
ANSWER = """<DescribeAutoScalingInstancesResponse xmlns="http://autoscaling.amazonaws.com/doc/2011-01-01/">
<DescribeAutoScalingInstancesResult><AutoScalingInstances>{members}</AutoScalingInstances>
</DescribeAutoScalingInstancesResult></DescribeAutoScalingInstancesResponse>"""
MEMBER = "<member><InstanceId>{}</InstanceId><AutoScalingGroupName>gpus</AutoScalingGroupName></member>"


@asynccontextmanager
async def autoscaling() -> AsyncIterator[tuple[int, list[str]]]:
    """AWS's far end: one instance is in a group. What it was asked, in its words."""
    asked: list[str] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        length = next(int(line.split(b":")[1]) for line in head.lower().split(b"\r\n") if b"content-length" in line)
        body = (await reader.readexactly(length)).decode()
        asked.append(body)
        text = ANSWER.format(members=MEMBER.format(KNOWN) if KNOWN in body else "").encode()
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/xml\r\ncontent-length: %d\r\n" % len(text))
        writer.write(b"connection: close\r\n\r\n" + text)
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    try:
        yield server.sockets[0].getsockname()[1], asked
    finally:
        server.close()
        await server.wait_closed()


@pytest.fixture
def asks_aws(yard: Yard, app: FastAPI, house: House, monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    def at(port: int) -> None:
        monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{port}")
        for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
            monkeypatch.setenv(name, "of-a-test")
        monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-central-1")
        app.state.house = replace(house, fleet_rules=replace(house.fleet_rules, validates_asg_instance=True))

    return at


async def checks(house: House) -> dict[str, str]:
    """What stands in the log of each worker's registration."""
    async with house.control_tx(read_only=True) as tx:
        rows = await tx.all(sa.select(worker_audit_log.c.worker_id, worker_audit_log.c.detail))
    said = {row.worker_id: json.loads(row.detail) for row in rows}
    return {worker_id: detail["asg_check"] for worker_id, detail in said.items() if "asg_check" in detail}


async def test_an_instance_of_a_group_comes_in_and_a_stranger_does_not(
    yard: Yard, house: House, asks_aws: Callable[[int], None]
) -> None:
    async with autoscaling() as (port, asked):
        asks_aws(port)
        await yard.register(KNOWN)
        refused = await yard.register("i-0stranger", status=403)
        assert "no Auto Scaling group" in refused.registered["message"]
        await yard.register("a-box-at-home")
    assert await checks(house) == {KNOWN: "passed", "a-box-at-home": "not asked"}
    assert len(asked) == 2


async def test_while_aws_is_away_workers_come_in_and_that_is_written_down(
    yard: Yard, house: House, asks_aws: Callable[[int], None]
) -> None:
    asks_aws(free_port())
    await yard.register("i-0anybody")
    assert await checks(house) == {"i-0anybody": "skipped"}
    async with house.control_tx(read_only=True) as tx:
        rows = await tx.all(sa.select(worker_audit_log.c.event, worker_audit_log.c.worker_id))
    assert sorted(rows) == [("asg_check_skipped", "i-0anybody"), ("register", "i-0anybody")]
