"""Spot notices and rebalance recommendations, from a metadata service over a socket."""

import asyncio
import json
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta

import pytest

from comfyfleet.worker.interruption import Ec2Machine, Metadata, Notice, SpotWatch, find_machine
from comfyfleet.worker.interruption.metadata import MetadataUnavailable
from comfyfleet.worker.interruption.spot import NOTICE_S, SPARE_S, read_action, read_rebalance
from tests.worker.edge.metadata_server import ACTION, REBALANCE, MetadataServer, a_metadata_server

NOW = datetime(2026, 11, 16, 12, 0, 0, tzinfo=UTC)
TERMINATE = b'{"action": "terminate", "time": "2026-11-16T12:02:00Z"}'
RECOMMENDED = b'{"noticeTime": "2026-11-16T11:59:00Z"}'


@pytest.fixture
async def server() -> AsyncIterator[MetadataServer]:
    async with a_metadata_server() as found:
        yield found


def said_at(seconds: float) -> str:
    return json.dumps({"action": "terminate", "time": (NOW + timedelta(seconds=seconds)).isoformat()})


@pytest.mark.parametrize(
    ("text", "notice"),
    [
        (None, None),
        (said_at(120), Notice("spot_terminate", 110.0)),
        (said_at(5), Notice("spot_terminate", 0.0)),
        (said_at(-3600), Notice("spot_terminate", 0.0)),  # our clock is ahead
        (said_at(86_400), Notice("spot_terminate", NOTICE_S - SPARE_S)),  # or behind
        ('{"action": "stop", "time": "soon"}', Notice("spot_stop", NOTICE_S - SPARE_S)),
        ('{"action": "hibernate", "time": "2026-11-16T12:02:00Z"}', Notice("spot_hibernate", 0.0)),
        ('{"action": "dance"}', None),
        ("<html>a proxy's page</html>", None),
        ("[1]", None),
        ("", None),
    ],
)
def test_what_an_action_means(text: str | None, notice: Notice | None) -> None:
    assert read_action(text, now=NOW) == notice


def test_a_recommendation_presses_nobody() -> None:
    assert read_rebalance(RECOMMENDED.decode()) == Notice("rebalance_recommendation", None)
    assert [read_rebalance(text) for text in (None, "", "no", '{"other": 1}', "3")] == [None] * 5


async def test_nothing_then_a_recommendation_then_the_notice_each_is_told_once(server: MetadataServer) -> None:
    told: list[Notice] = []
    async with Metadata(server.url) as metadata:
        watch = SpotWatch(metadata, told.append)
        await watch.tick()
        assert told == []
        server.says[REBALANCE] = RECOMMENDED
        await watch.tick()
        await watch.tick()
        assert [each.reason for each in told] == ["rebalance_recommendation"]
        server.says[ACTION] = TERMINATE
        await watch.tick()
        await watch.tick()
    assert [each.reason for each in told] == ["rebalance_recommendation", "spot_terminate"]
    assert server.given == 1, "one token serves many questions"


async def test_it_watches_until_the_notice_comes(server: MetadataServer) -> None:
    told: list[Notice] = []
    async with Metadata(server.url) as metadata:
        watching = asyncio.create_task(SpotWatch(metadata, told.append, every_s=0.01).run())
        while len(server.asked) < 6:  # noqa: ASYNC110 the far server signals nobody
            await asyncio.sleep(0.01)
        assert not watching.done()
        server.says[ACTION] = TERMINATE
        await asyncio.wait_for(watching, 30)
    assert [each.reason for each in told] == ["spot_terminate"]


async def test_a_token_that_is_no_longer_one_is_replaced_and_an_old_one_renewed(server: MetadataServer) -> None:
    now = 0.0
    async with Metadata(server.url, now=lambda: now) as metadata:
        assert await metadata.read("meta-data/nothing") is None
        server.tokens.clear()
        assert await metadata.read("meta-data/nothing") is None
        assert server.given == 2
        now = 21_600 / 2 + 1
        assert await metadata.read("meta-data/nothing") is None
        assert server.given == 3


@pytest.mark.parametrize("trouble", ["hangs", "garbage", "endless", "away"])
async def test_a_metadata_service_in_trouble_is_no_notice(server: MetadataServer, trouble: str) -> None:
    told: list[Notice] = []
    match trouble:
        case "hangs":
            server.hangs = True
        case "garbage":
            server.answers_anyone = b"\xff\xfe<html>"
        case "endless":
            server.answers_anyone = b"x" * 1_000_000
    url = "http://127.0.0.1:1" if trouble == "away" else server.url
    async with Metadata(url, request_s=0.3) as metadata:
        with pytest.raises(MetadataUnavailable):
            await metadata.read("meta-data/instance-id")
        watch = SpotWatch(metadata, told.append)
        await watch.tick()
        assert told == []
        if trouble != "away":
            server.hangs, server.answers_anyone, server.says[ACTION] = False, None, TERMINATE
    if trouble != "away":
        async with Metadata(server.url) as metadata:
            await SpotWatch(metadata, told.append).tick()
        assert [each.reason for each in told] == ["spot_terminate"], "it goes on when the service is back"


async def test_the_machine_is_known_by_its_id_and_others_are_not_taken_for_ec2(server: MetadataServer) -> None:
    async with Metadata(server.url, request_s=0.3) as metadata:
        assert await find_machine(metadata) is None
        server.says["/latest/meta-data/instance-id"] = b"i-0123456789abcdef0"
        server.says["/latest/meta-data/placement/region"] = b"eu-central-1"
        assert await find_machine(metadata) == Ec2Machine("i-0123456789abcdef0", "eu-central-1")
        server.says["/latest/meta-data/instance-id"] = b"4711"
        assert await find_machine(metadata) is None
        server.hangs = True
        assert await find_machine(metadata) is None
