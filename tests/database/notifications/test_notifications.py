"""Alerts are written, told once to every channel, sent at least once, and logged; on both engines."""

import asyncio
import json
import random
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, replace
from ipaddress import ip_network

import pytest
from standardwebhooks import Webhook

from comfyfleet import notifications
from comfyfleet.audit import Actor
from comfyfleet.house import House
from comfyfleet.kernel.errors import AlreadyExists, InvalidInput, NotFound
from comfyfleet.kernel.page import PageRequest
from comfyfleet.kernel.secret import Secret
from comfyfleet.notifications import (
    ActingOperator,
    AlertReading,
    AlertReadings,
    AlertState,
    AlertTimes,
    Channel,
    ChannelKind,
    NewChannel,
    Notification,
    NotificationKind,
)
from comfyfleet.notifications.channels import (
    CHANNELS_MAX,
    ChannelNotPublic,
    MailNotConfigured,
    TooManyChannels,
)
from comfyfleet.notifications.deliver import LEASE_S
from comfyfleet.notifications.model import ATTEMPTS_MAX
from comfyfleet.tenants import Postbox
from comfyfleet.upkeep import forget_old
from comfyfleet.upkeep.deliver_notifications import NotificationCourier
from comfyfleet.upkeep.rules import UpkeepRules
from comfyfleet.webhooks import DeliveryStatus
from tests.api.test_auth import AnyPort, Letters
from tests.conftest import ManualClock
from tests.receiver import Receiver, a_receiver

LOOPBACK = (ip_network("127.0.0.0/8"),)
AT_ONCE = AlertTimes(for_s=0.0, resolve_s=0.0)
HOLDS = AlertReading("NoWorkers", "3 jobs wait", "video/test")
TICKET = AlertReading("DiskFull", "1 GiB is free", "home of a")


@dataclass
class Desk:
    """An installation's channels, and a courier."""

    house: House
    courier: NotificationCourier

    @property
    def by(self) -> ActingOperator:
        return ActingOperator(Actor("operator", "ops@example.com"), self.house.chain)

    async def channel(self, url: str, name: str = "pager", **given: bool) -> Channel:
        async with self.house.control_tx() as tx:
            new = NewChannel(name, ChannelKind.WEBHOOK, url, **given)
            return await notifications.create_channel(tx, new, rules=self.house.channel_rules, by=self.by)

    async def look(self, *readings: AlertReading, times: AlertTimes = AT_ONCE) -> list[NotificationKind | None]:
        async with self.house.control_tx() as tx:
            found = AlertReadings.of(readings, known=notifications.CONDITIONS)
            changes = await notifications.note_readings(tx, found, times=times, public_url="http://localhost")
        return [each.tells for each in changes]

    async def round(self) -> int:
        count = await self.courier.tick()
        await self.courier.finish()
        return count

    async def log(self) -> list[Notification]:
        """Oldest first."""
        async with self.house.control_tx(read_only=True) as tx:
            return (await notifications.list_notifications(tx, PageRequest(rows=100))).rows[::-1]

    async def outcomes(self) -> list[tuple[str, NotificationKind, DeliveryStatus]]:
        return [(each.channel, each.kind, each.status) for each in await self.log()]

    async def alerts(self, *states: AlertState) -> list[tuple[str, str, AlertState]]:
        async with self.house.control_tx(read_only=True) as tx:
            found = await notifications.list_alerts(tx, states=states or tuple(AlertState))
        return sorted((each.condition, each.subject, each.state) for each in found)


@pytest.fixture
async def desk(house: House) -> AsyncIterator[Desk]:
    private = replace(house, notification_networks=LOOPBACK)
    courier = NotificationCourier(private, chance=random.Random(1))
    yield Desk(private, courier)
    await courier.close()


@pytest.fixture
async def receiver() -> AsyncIterator[Receiver]:
    async with a_receiver() as found:
        yield found


def texts(receiver: Receiver) -> list[str]:
    return [json.loads(each.body)["text"] for each in receiver.received]


async def test_an_alert_is_told_once_when_it_fires_and_once_when_it_is_over(desk: Desk, receiver: Receiver) -> None:
    channel = await desk.channel(receiver.url)
    for _ in range(3):
        await desk.look(HOLDS)
        await desk.round()
    for _ in range(3):
        await desk.look()
        await desk.round()
    assert texts(receiver) == [
        "FIRING: NoWorkers (video/test). 3 jobs wait",
        "RESOLVED: NoWorkers (video/test). It was: 3 jobs wait",
    ]
    [first, second] = receiver.received
    assert channel.secret is not None
    for got in (first, second):
        said = Webhook(channel.secret.reveal()).verify(got.body.decode(), got.headers)
        assert said["data"]["runbook"] == "docs/runbooks/NoWorkers.md"
    assert first.headers["webhook-id"] != second.headers["webhook-id"]
    assert await desk.outcomes() == [
        ("pager", NotificationKind.FIRING, DeliveryStatus.DELIVERED),
        ("pager", NotificationKind.RESOLVED, DeliveryStatus.DELIVERED),
    ]
    assert await desk.alerts() == [("NoWorkers", "video/test", AlertState.RESOLVED)]


async def test_it_waits_for_its_time_by_the_clock_of_the_database(
    desk: Desk, receiver: Receiver, clock: ManualClock
) -> None:
    await desk.channel(receiver.url)
    assert await desk.look(HOLDS, times=AlertTimes()) == [None]
    for _ in range(4):
        clock.advance(60)
        assert await desk.look(HOLDS, times=AlertTimes()) == [None]
    clock.advance(61)
    assert await desk.look(HOLDS, times=AlertTimes()) == [NotificationKind.FIRING]
    clock.advance(60)
    assert await desk.look(times=AlertTimes()) == [None]
    assert await desk.alerts(AlertState.FIRING) == [("NoWorkers", "video/test", AlertState.FIRING)]


async def test_two_replicas_that_look_at_once_tell_it_once(desk: Desk, receiver: Receiver) -> None:
    await desk.channel(receiver.url)
    for readings in ((HOLDS,), ()):
        found = await asyncio.gather(*(desk.look(*readings) for _ in range(6)))
        assert len([kind for kinds in found for kind in kinds if kind is not None]) == 1
    counts = await asyncio.gather(*(NotificationCourier(desk.house, chance=random.Random(1)).tick() for _ in range(4)))
    assert sum(counts) == 1, "of one condition and channel the first goes alone"
    assert len(await desk.log()) == 2


async def test_what_happens_at_once_is_one_message_a_condition(desk: Desk, receiver: Receiver) -> None:
    await desk.channel(receiver.url)
    await desk.look(*(replace(HOLDS, subject=f"fleet-{number:03}") for number in range(40)), TICKET)
    while await desk.round():
        pass
    assert sorted(texts(receiver)) == [
        "FIRING: DiskFull (home of a). 1 GiB is free",
        "FIRING: NoWorkers, 40 alerts: fleet-000, fleet-001, fleet-002, fleet-003, fleet-004 and 35 more. "
        "Jobs wait, and no worker that may take them has been heard of.",
    ]


async def test_a_channel_for_pages_hears_of_no_ticket_and_one_that_is_off_of_nothing(
    desk: Desk, receiver: Receiver
) -> None:
    await desk.channel(receiver.url, "all")
    await desk.channel(receiver.url, "pages", only_pages=True)
    off = await desk.channel(receiver.url, "off")
    async with desk.house.control_tx() as tx:
        assert not (await notifications.disable_channel(tx, off, by=desk.by)).is_active
    await desk.look(HOLDS, TICKET)
    found = sorted((each.channel, each.condition) for each in await desk.log())
    assert found == [("all", "DiskFull"), ("all", "NoWorkers"), ("pages", "NoWorkers")]


async def test_one_that_does_not_arrive_is_tried_again_with_the_same_id_before_what_follows_it(
    desk: Desk, clock: ManualClock
) -> None:
    async with a_receiver(500, 503) as receiver:
        await desk.channel(receiver.url)
        await desk.look(HOLDS)
        await desk.look()
        for _ in range(3):
            await desk.round()
            clock.advance(20)
        assert [each.last_error for each in await desk.log()] == [None, None]
        await desk.round()
        assert [text.partition(":")[0] for text in texts(receiver)] == ["FIRING", "FIRING", "FIRING", "RESOLVED"]
        assert len({each.headers["webhook-id"] for each in receiver.received}) == 2


async def test_after_the_last_try_it_has_failed_and_the_log_says_why(desk: Desk, clock: ManualClock) -> None:
    async with a_receiver(*[500] * ATTEMPTS_MAX) as receiver:
        await desk.channel(receiver.url)
        await desk.look(HOLDS)
        for _ in range(ATTEMPTS_MAX):
            assert await desk.round() == 1
            clock.advance(20_000)
        assert await desk.round() == 0
        [row] = await desk.log()
    assert (row.status, row.attempts, row.last_error, row.response_status) == (
        DeliveryStatus.FAILED,
        ATTEMPTS_MAX,
        "answered 500",
        500,
    )


async def test_a_channel_that_hangs_holds_up_no_other(desk: Desk, receiver: Receiver) -> None:
    async with a_receiver(hangs=True) as hung:
        await desk.channel(hung.url, "hangs")
        await desk.channel(receiver.url, "works")
        await desk.look(HOLDS)
        assert await desk.courier.tick() == 2
        await asyncio.wait_for(asyncio.gather(hung.arrived.wait(), receiver.arrived.wait()), 30)
        hung.released.set()
        await desk.courier.finish()
    assert {status for _, _, status in await desk.outcomes()} == {DeliveryStatus.DELIVERED}


async def test_a_receiver_that_is_gone_switches_its_channel_off(desk: Desk) -> None:
    async with a_receiver(410) as receiver:
        channel = await desk.channel(receiver.url)
        await desk.look(HOLDS)
        await desk.look()
        await desk.round()
    assert {status for _, _, status in await desk.outcomes()} == {DeliveryStatus.FAILED, DeliveryStatus.DROPPED}
    async with desk.house.control_tx() as tx:
        found = await notifications.find_channel(tx, channel.id)
        assert (found.is_active, found.disabled_reason) == (False, "Its receiver answered 410 Gone.")
        again = await notifications.enable_channel(tx, found, by=desk.by)
        assert (again.is_active, again.disabled_reason) == (True, None)


async def test_a_deleted_channel_gets_nothing_and_its_log_stays(desk: Desk, receiver: Receiver) -> None:
    channel = await desk.channel(receiver.url)
    await desk.look(HOLDS)
    async with desk.house.control_tx() as tx:
        await notifications.delete_channel(tx, channel, by=desk.by)
    assert await desk.round() == 0
    assert await desk.outcomes() == [("pager", NotificationKind.FIRING, DeliveryStatus.DROPPED)]
    async with desk.house.control_tx() as tx:
        with pytest.raises(NotFound):
            await notifications.delete_channel(tx, channel, by=desk.by)
    assert receiver.received == []


async def test_a_test_says_that_it_is_one(desk: Desk, receiver: Receiver) -> None:
    channel = await desk.channel(receiver.url)
    async with desk.house.control_tx() as tx:
        await notifications.send_channel_test(tx, channel, rules=desk.house.channel_rules, by=desk.by)
    await desk.round()
    assert texts(receiver) == ["This is a test of the notification channel pager. Nothing is wrong."]


@pytest.mark.parametrize(
    ("new", "word"),
    [
        (NewChannel("", ChannelKind.WEBHOOK, "https://example.com/x"), "name"),
        (NewChannel("a", ChannelKind.WEBHOOK, "ftp://example.com/x"), "target"),
        (NewChannel("a", ChannelKind.WEBHOOK, "https://example.com/" + "x" * 2_000), "2020 characters"),
        (NewChannel("a", ChannelKind.MAIL, "nobody"), "'nobody' is no mail address"),
        (NewChannel("a", ChannelKind.MAIL, " , "), "is empty"),
        (NewChannel("a", ChannelKind.MAIL, "a@example.com,evil\r\nBcc:x@example.com"), "no mail address"),
        (NewChannel("a", ChannelKind.MAIL, ", ".join(f"a{each}@example.com" for each in range(21))), "21 addresses"),
    ],
)
async def test_a_channel_that_makes_no_sense_is_refused_in_words(desk: Desk, new: NewChannel, word: str) -> None:
    async with desk.house.control_tx() as tx:
        with pytest.raises(InvalidInput, match=word):
            await notifications.create_channel(tx, new, rules=desk.house.channel_rules, by=desk.by)


async def test_private_addresses_missing_mail_and_names_that_are_taken(house: House, desk: Desk) -> None:
    async with house.control_tx() as tx:
        for url in ("http://127.0.0.1:9/x", "http://169.254.169.254/latest"):
            new = NewChannel("a", ChannelKind.WEBHOOK, url)
            with pytest.raises(ChannelNotPublic, match="COMFYFLEET_NOTIFICATION_NETWORKS"):
                await notifications.create_channel(tx, new, rules=house.channel_rules, by=desk.by)
        new = NewChannel("a", ChannelKind.MAIL, "ops@example.com")
        with pytest.raises(MailNotConfigured):
            await notifications.create_channel(tx, new, rules=house.channel_rules, by=desk.by)
    await desk.channel("https://example.com/x")
    with pytest.raises(AlreadyExists):
        await desk.channel("https://example.com/y")
    for number in range(CHANNELS_MAX - 1):
        await desk.channel("https://example.com/x", f"channel {number}")
    with pytest.raises(TooManyChannels):
        await desk.channel("https://example.com/x", "one more")


async def test_a_name_that_leads_to_a_private_address_is_refused_when_it_is_sent(house: House, desk: Desk) -> None:
    """`localhost` is a name: where it leads is seen when the connection is made, by a courier without the setting."""
    await desk.channel("http://localhost:9/x")
    await desk.look(HOLDS)
    strict = NotificationCourier(house, chance=random.Random(1))
    await strict.tick()
    await strict.finish()
    await strict.close()
    [row] = await desk.log()
    assert (row.status, row.last_error) == (
        DeliveryStatus.PENDING,
        "localhost leads to an address that is not public.",
    )


@pytest.fixture
def mails() -> Iterator[tuple[Letters, str]]:
    found = Letters()
    controller = AnyPort(found, hostname="127.0.0.1", port=0)
    controller.start()
    yield found, f"smtp://127.0.0.1:{controller.port}"
    controller.stop()


async def test_a_mail_arrives_and_one_that_the_server_does_not_take_is_tried_again(
    desk: Desk, mails: tuple[Letters, str], clock: ManualClock
) -> None:
    taken, url = mails
    there = replace(desk.house, postbox=Postbox(Secret(url), "fleet@example.com"))
    away = replace(desk.house, postbox=Postbox(Secret("smtp://127.0.0.1:1"), "fleet@example.com"))
    async with desk.house.control_tx() as tx:
        new = NewChannel("mail", ChannelKind.MAIL, "ops@example.com,  night@example.com")
        await notifications.create_channel(tx, new, rules=there.channel_rules, by=desk.by)
    await desk.look(HOLDS)
    for house in (away, there):
        courier = NotificationCourier(house, chance=random.Random(1))
        await courier.tick()
        await courier.finish()
        await courier.close()
        clock.advance(20)
    [(to, subject, text)] = taken.taken
    assert to == ["ops@example.com", "night@example.com"]
    assert subject == "[comfyfleet] FIRING: NoWorkers (video/test). 3 jobs wait"
    assert "docs/runbooks/NoWorkers.md" in text
    [row] = await desk.log()
    assert (row.status, row.attempts) == (DeliveryStatus.DELIVERED, 2)


async def test_the_log_and_what_was_resolved_are_forgotten_after_their_time(
    desk: Desk, receiver: Receiver, clock: ManualClock
) -> None:
    await desk.channel(receiver.url)
    await desk.look(HOLDS, TICKET)
    await desk.look(TICKET)
    while await desk.round():
        pass
    rules = UpkeepRules()
    await forget_old.tick(desk.house, rules=rules)
    assert len(await desk.log()) == 3
    clock.advance(rules.retention_s + 60)
    await forget_old.tick(desk.house, rules=rules)
    assert await desk.log() == []
    assert await desk.alerts() == [("DiskFull", "home of a", AlertState.FIRING)], "what fires is not forgotten"


async def test_a_lease_that_nobody_ends_is_over_after_its_time(
    desk: Desk, receiver: Receiver, clock: ManualClock
) -> None:
    await desk.channel(receiver.url)
    await desk.look(HOLDS)
    async with desk.house.control_tx() as tx:
        [due] = await notifications.take_due(tx, rows=10)
        assert await notifications.take_due(tx, rows=10) == []
    assert await desk.round() == 0
    clock.advance(LEASE_S + 1)
    assert await desk.round() == 1
    [got] = receiver.received
    assert got.headers["webhook-id"] == f"msg_{due.id.hex}"
