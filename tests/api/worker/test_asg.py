"""Instances that register are asked for at AWS, where the settings say so. AWS away: they come in, and that is kept."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import pytest
import sqlalchemy as sa
from fastapi import FastAPI

from comfyfleet.db.tables import worker_audit_log
from comfyfleet.house import House
from tests.api.worker.conftest import Yard
from tests.fake_aws import Refusal, fake_aws
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
def asks_aws(yard: Yard, app: FastAPI, house: House, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    def at(port: int, **given: Any) -> None:
        monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{port}")
        for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
            monkeypatch.setenv(name, "of-a-test")
        asked = {"validates_asg_instance": True, "aws_region": "eu-central-1", **given}
        rules = replace(house.fleet_rules, **asked)
        app.state.house = replace(house, fleet_rules=rules)

    return at


async def checks(house: House) -> dict[str, str]:
    """What stands in the log of each worker's registration."""
    async with house.control_tx(read_only=True) as tx:
        rows = await tx.all(sa.select(worker_audit_log.c.worker_id, worker_audit_log.c.detail))
    said = {row.worker_id: json.loads(row.detail) for row in rows}
    return {worker_id: detail["asg_check"] for worker_id, detail in said.items() if "asg_check" in detail}


async def test_an_instance_of_a_group_comes_in_and_a_stranger_does_not(
    yard: Yard, house: House, asks_aws: Callable[..., None]
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
    yard: Yard, house: House, asks_aws: Callable[..., None]
) -> None:
    asks_aws(free_port())
    await yard.register("i-0anybody")
    assert await checks(house) == {"i-0anybody": "skipped"}
    async with house.control_tx(read_only=True) as tx:
        rows = await tx.all(sa.select(worker_audit_log.c.event, worker_audit_log.c.worker_id))
    assert sorted(rows) == [("asg_check_skipped", "i-0anybody"), ("register", "i-0anybody")]


async def test_only_instances_of_the_groups_that_are_allowed_come_in(
    yard: Yard, house: House, asks_aws: Callable[..., None]
) -> None:
    async with autoscaling() as (port, _):
        asks_aws(port, asg_groups=("others",))
        refused = await yard.register(KNOWN, status=403)
        assert "in the Auto Scaling group 'gpus', which may not register workers" in refused.registered["message"]
        asks_aws(port, asg_groups=("others", "gpus"))
        await yard.register(KNOWN)
    assert await checks(house) == {KNOWN: "passed"}


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ({"aws_region": None}, "no region is set; set COMFYFLEET_AWS_REGION"),
        ({}, "allow autoscaling:DescribeAutoScalingInstances in its IAM policy"),
    ],
)
async def test_a_check_that_is_skipped_says_why(
    yard: Yard, house: House, asks_aws: Callable[..., None], given: dict[str, Any], reason: str
) -> None:
    with fake_aws() as aws:
        aws.refuses["*"] = Refusal("AccessDenied", "not authorized", 403)
        asks_aws(int(aws.url.rpartition(":")[2]), **given)
        await yard.register(KNOWN)
    async with house.control_tx(read_only=True) as tx:
        rows = await tx.all(sa.select(worker_audit_log.c.event, worker_audit_log.c.detail))
    [skipped] = [json.loads(row.detail) for row in rows if row.event == "asg_check_skipped"]
    assert reason in skipped["reason"]
