"""The fake cloud behaves as badly as it is asked to."""

import asyncio
import random

from comfyfleet.scaling import CloudState, LaunchProblem, LaunchRequest, Market, Place
from comfyfleet.scaling.fake_cloud import CloudEventKind, CloudHabits, FakeCloud, FakeMachines

SPOT = Place("small", Market.SPOT, "a")


def request(number: int) -> LaunchRequest:
    return LaunchRequest(*SPOT, number)


def test_machines_boot_after_their_delay_and_are_billed_from_launch() -> None:
    cloud = FakeCloud(CloudHabits(start_median_s=100.0, start_sigma=0.0))
    answer = cloud.launch(request(3), "t1")
    assert len(answer.ids) == 3
    assert {each.state for each in cloud.describe()} == {CloudState.PENDING}
    assert cloud.advance(99.0) == []
    assert [event.kind for event in cloud.advance(101.0)] == [CloudEventKind.BOOTED] * 3
    assert {each.state for each in cloud.describe()} == {CloudState.RUNNING}
    cloud.terminate(answer.ids[:1])
    cloud.advance(201.0)
    assert cloud.billed() == {SPOT: 101.0 + 2 * 201.0}


def test_the_same_token_gets_the_same_machines() -> None:
    cloud = FakeCloud()
    assert cloud.launch(request(2), "t") == cloud.launch(request(2), "t")
    assert len(cloud.describe()) == 2


def test_a_full_or_closed_place_says_so() -> None:
    cloud = FakeCloud(room={SPOT: 2})
    answer = cloud.launch(request(3), "t1")
    assert (len(answer.ids), answer.errors[0].problem, answer.errors[0].number) == (2, LaunchProblem.CAPACITY, 1)
    cloud.terminate(answer.ids)
    cloud.close(SPOT)
    assert cloud.launch(request(1), "t2").ids == ()
    cloud.open(SPOT)
    assert len(cloud.launch(request(1), "t3").ids) == 1
    cloud.refuses = LaunchProblem.REFUSED
    assert cloud.launch(request(1), "t4").errors[0].problem is LaunchProblem.REFUSED


def test_stuck_machines_never_boot() -> None:
    cloud = FakeCloud(CloudHabits(stuck_share=1.0))
    cloud.launch(request(2), "t")
    assert cloud.advance(100_000.0) == []
    assert len(cloud.describe()) == 2


def test_a_storm_gives_notice_and_then_takes() -> None:
    cloud = FakeCloud(CloudHabits(start_median_s=10.0, start_sigma=0.0, notice_s=120.0), random.Random(3))
    cloud.launch(request(10), "t")
    cloud.advance(20.0)
    taken = cloud.take(SPOT, 0.5)
    assert len(taken) == 5
    assert {event.machine_id for event in cloud.advance(21.0)} == set(taken)
    gone = cloud.advance(200.0)
    assert [event.kind for event in gone] == [CloudEventKind.GONE] * 5
    assert {event.at_s for event in gone} == {140.0}
    assert len(cloud.describe()) == 5


def test_a_machine_that_is_taken_while_it_starts_never_boots() -> None:
    cloud = FakeCloud(CloudHabits(start_median_s=60.0, start_sigma=0.0))
    cloud.launch(request(1), "t")
    cloud.take(SPOT, 1.0)
    assert [event.kind for event in cloud.advance(1_000.0)] == [CloudEventKind.NOTICE, CloudEventKind.GONE]


def test_as_an_adapter_it_follows_the_clock_it_is_given() -> None:
    now_s = [0.0]
    machines = FakeMachines(FakeCloud(CloudHabits(start_median_s=10.0, start_sigma=0.0)), lambda: now_s[0])

    async def look() -> list[CloudState]:
        return [each.state for each in await machines.describe()]

    async def story() -> None:
        answer = await machines.launch(request(1), "t")
        assert await look() == [CloudState.PENDING]
        now_s[0] = 11.0
        assert await look() == [CloudState.RUNNING]
        await machines.terminate([*answer.ids, "unknown"])
        assert await look() == []

    asyncio.run(story())
