"""Who is woken for which job."""

import asyncio

from comfyfleet.desk.waiting import Waiter, WaitingRoom, Wake
from comfyfleet.dispatch import Lane, Provider
from comfyfleet.kernel.ids import LaneId, WorkerId, WorkflowId, new_id

FLOW, OTHER = WorkflowId(new_id()), WorkflowId(new_id())
LANE = Lane(LaneId(1), FLOW, "hash-1", Provider.SELF_HOSTED, 0)
ELSEWHERE = Lane(LaneId(2), OTHER, "hash-2", Provider.SELF_HOSTED, 0)


def park(room: WaitingRoom, *flows: WorkflowId, warm: tuple[str, ...] = (), provider: str = "self_hosted") -> Waiter:
    return room.park(WorkerId(new_id()), [(flow, provider) for flow in flows or (FLOW,)], warm)


def woken(*waiters: Waiter) -> list[bool]:
    return [waiter.woken.done() for waiter in waiters]


async def test_one_job_wakes_one_and_who_came_first_is_first() -> None:
    room = WaitingRoom()
    first, second = park(room), park(room)
    assert room.wake(LANE) == 1
    assert woken(first, second) == [True, False]
    assert first.woken.result() == Wake(LANE.id, 0)
    assert room.wake(LANE, count=5) == 1
    assert room.wake(LANE) == 0
    assert len(room) == 0


async def test_the_warm_one_goes_first() -> None:
    room = WaitingRoom()
    cold, warm = park(room), park(room, warm=("hash-1",))
    room.wake(LANE)
    assert woken(cold, warm) == [False, True]
    room.wake(LANE)
    assert woken(cold) == [True]


async def test_the_idle_one_goes_before_the_warm_one_that_is_busy() -> None:
    """The busy one would only hold it until a heartbeat asks for it."""
    room = WaitingRoom()
    busy = room.park(WorkerId(new_id()), [(FLOW, "self_hosted")], ("hash-1",), idle=False)
    idle = park(room)
    room.wake(LANE)
    assert woken(busy, idle) == [False, True]
    room.wake(LANE)
    assert woken(busy) == [True]


async def test_nobody_is_woken_for_what_it_cannot_run() -> None:
    room = WaitingRoom()
    waiters = [park(room, OTHER), park(room, FLOW, provider="cloud")]
    assert room.wake(LANE) == 0
    assert woken(*waiters) == [False, False]


async def test_who_waits_for_several_things_is_woken_once() -> None:
    room = WaitingRoom()
    both = park(room, FLOW, OTHER, warm=("hash-1", "hash-2"))
    assert room.wake(LANE) == 1
    assert room.wake(ELSEWHERE) == 0
    assert both.woken.result().lane == LANE.id
    assert list(room.routings) == []


async def test_one_that_has_given_up_in_this_very_moment_swallows_no_wake() -> None:
    """Its time is over, and it has not left the room yet."""
    room = WaitingRoom()
    late, fresh = park(room), park(room)
    late.woken.cancel()
    assert room.wake(LANE) == 1
    assert fresh.woken.result().lane == LANE.id


async def test_who_leaves_is_not_woken() -> None:
    room = WaitingRoom()
    gone, stays = park(room, warm=("hash-1",)), park(room)
    room.leave(gone)
    room.leave(gone)
    assert len(room) == 1
    room.wake(LANE)
    assert woken(stays) == [True]


async def test_hops_travel_with_the_wake() -> None:
    room = WaitingRoom()
    waiter = park(room)
    room.wake(LANE, hops=3)
    assert waiter.woken.result() == Wake(LANE.id, 3)


async def test_only_another_who_stands_idle_is_reason_to_give_work_back() -> None:
    room = WaitingRoom()
    idle, busy = (room.park(WorkerId(new_id()), [(FLOW, "self_hosted")], (), idle=idle) for idle in (True, False))
    assert room.wants(LANE, but=busy.worker_id)
    assert not room.wants(LANE, but=idle.worker_id), "the other one is busy, and only looks ahead"
    assert not room.wants(ELSEWHERE, but=busy.worker_id)


async def test_who_was_passed_over_does_not_speak_for_those_who_come_later() -> None:
    room, both = WaitingRoom(), [(FLOW, "self_hosted"), (OTHER, "self_hosted")]
    assert not room.nothing_waits_for(both)
    blocked = room.park(WorkerId(new_id()), both, (), vouches=False)
    assert not room.nothing_waits_for(both)
    one, other = park(room, FLOW), park(room, OTHER)
    assert room.nothing_waits_for(both)
    room.leave(one)
    assert not room.nothing_waits_for(both)
    assert room.nothing_waits_for(both[1:])
    room.leave(blocked)
    room.wake(ELSEWHERE)
    assert woken(other) == [True]
    assert not room.nothing_waits_for(both[1:])
    room.close()
    assert not room.nothing_waits_for([])


async def test_a_closed_room_sends_all_away_and_keeps_nobody() -> None:
    room = WaitingRoom()
    waiters = [park(room), park(room, OTHER)]
    room.close()
    assert [waiter.woken.result() for waiter in waiters] == [Wake(), Wake()]
    assert len(room) == 0
    late = park(room)
    assert await asyncio.wait_for(late.woken, 1) == Wake()
    assert len(room) == 0


async def test_a_call_that_came_between_the_look_and_the_wait_is_heard() -> None:
    room = WaitingRoom()
    looked = room.calls
    room.wake(LANE)
    late = room.park(WorkerId(new_id()), [(FLOW, "self_hosted")], (), since=looked)
    assert late.woken.result() == Wake(LANE.id, 0)
    assert len(room) == 0


async def test_who_has_looked_before_all_were_sent_away_does_not_stay() -> None:
    """What it saw is out of date: it asks anew. Who looks afterwards stays."""
    room = WaitingRoom()
    standing, looked = park(room), room.calls
    room.dismiss_all()
    assert standing.woken.result() == Wake()
    late = room.park(WorkerId(new_id()), [(FLOW, "self_hosted")], (), since=looked)
    assert late.woken.result() == Wake()
    after = room.park(WorkerId(new_id()), [(FLOW, "self_hosted")], (), since=room.calls)
    assert woken(after) == [False]


async def test_a_call_from_before_the_look_wakes_nobody() -> None:
    room = WaitingRoom()
    room.wake(LANE)
    waiter = room.park(WorkerId(new_id()), [(FLOW, "self_hosted")], (), since=room.calls)
    other = room.park(WorkerId(new_id()), [(OTHER, "self_hosted")], (), since=0)
    assert woken(waiter, other) == [False, False]


async def test_a_call_that_somebody_heard_is_not_heard_again() -> None:
    room = WaitingRoom()
    looked = room.calls
    first = park(room)
    room.wake(LANE)
    second = room.park(WorkerId(new_id()), [(FLOW, "self_hosted")], (), since=looked)
    assert woken(first, second) == [True, False]
