"""How a loop runs: at once while there is more, again after a failure, when woken, and until it is told to stop."""

import asyncio
from collections.abc import Awaitable, Callable

from comfyfleet.kernel.errors import DatabaseUnavailable
from comfyfleet.upkeep import Loop, Upkeep

HOUR_S = 3600.0


class Counting:
    """A tick that does what each answer says, and tells who waits for the nth."""

    def __init__(self, *answers: int | Exception) -> None:
        self.answers = list(answers)
        self.ticks = 0
        self._ticked = asyncio.Condition()

    async def __call__(self) -> int:
        async with self._ticked:
            self.ticks += 1
            self._ticked.notify_all()
        answer = self.answers.pop(0) if self.answers else 0
        if isinstance(answer, Exception):
            raise answer
        return answer

    async def reached(self, ticks: int) -> None:
        async with asyncio.timeout(10), self._ticked:
            await self._ticked.wait_for(lambda: self.ticks >= ticks)


def loop_of(tick: Callable[[], Awaitable[int]], name: str = "a", **given: object) -> Loop:
    return Loop(**{"name": name, "every_s": HOUR_S, "batch": 10, "tick": tick, **given})  # type: ignore[arg-type]


async def test_it_goes_on_at_once_while_a_batch_was_full_and_then_waits() -> None:
    tick = Counting(10, 10, 9)
    upkeep = Upkeep([loop_of(tick)])
    upkeep.start()
    await tick.reached(3)
    await asyncio.sleep(0)
    await upkeep.stop()
    assert tick.ticks == 3


async def test_it_can_be_woken_by_name_and_pool() -> None:
    ticks = {key: Counting() for key in (("a", "x"), ("a", "y"), ("b", "x"))}
    upkeep = Upkeep([loop_of(tick, name, pool=pool) for (name, pool), tick in ticks.items()])
    upkeep.start()
    for tick in ticks.values():
        await tick.reached(1)
    upkeep.wake("a")
    await ticks["a", "x"].reached(2)
    await ticks["a", "y"].reached(2)
    upkeep.wake("a", pool="y")
    await ticks["a", "y"].reached(3)
    await upkeep.stop()
    assert {key: tick.ticks for key, tick in ticks.items()} == {("a", "x"): 2, ("a", "y"): 3, ("b", "x"): 1}


async def test_a_wake_during_a_tick_is_not_lost() -> None:
    upkeep: Upkeep

    class WakesItself(Counting):
        async def __call__(self) -> int:
            if self.ticks == 0:
                upkeep.wake("a")
            return await super().__call__()

    tick = WakesItself()
    upkeep = Upkeep([loop_of(tick)])
    upkeep.start()
    await tick.reached(2)
    await upkeep.stop()
    assert tick.ticks == 2


async def test_one_that_fails_is_tried_again_and_holds_up_no_other() -> None:
    failing, other = Counting(DatabaseUnavailable("x"), ValueError("y"), 0), Counting()
    loops = [loop_of(failing, every_s=0.001), loop_of(other, "b", every_s=0.001)]
    upkeep = Upkeep(loops)
    upkeep.start()
    await failing.reached(3)
    await other.reached(3)
    await upkeep.stop()
    assert loops[0].failures == 0


async def test_pauses_after_failures_grow_and_are_bounded() -> None:
    loop = loop_of(Counting(), every_s=2.0)
    assert [loop._pause_s(chance) for chance in (0.0, 1.0)] == [1.5, 2.5]
    pauses = []
    for loop.failures in range(1, 50):
        pauses.append(loop._pause_s(1.0))
    assert pauses[:3] == [2.0, 4.0, 8.0]
    assert max(pauses) == 30.0


async def test_one_that_fails_is_not_woken_out_of_its_pause() -> None:
    tick = Counting(DatabaseUnavailable("x"))
    upkeep = Upkeep([loop_of(tick, every_s=20.0)])
    upkeep.start()
    await tick.reached(1)
    for _ in range(100):
        upkeep.wake("a")
        await asyncio.sleep(0)
    await upkeep.stop()
    assert tick.ticks == 1


async def test_stopping_waits_a_moment_for_a_tick_and_not_longer() -> None:
    begun, never = asyncio.Event(), asyncio.Event()

    async def stuck() -> int:
        begun.set()
        await never.wait()
        return 0

    upkeep = Upkeep([loop_of(stuck), loop_of(Counting(), "b")])
    upkeep.start()
    await begun.wait()
    async with asyncio.timeout(5):
        await upkeep.stop()
    await upkeep.stop()
    assert [task for task in asyncio.all_tasks() if task.get_name().startswith("upkeep")] == []


async def test_stopping_what_was_never_started_is_fine() -> None:
    await Upkeep([loop_of(Counting())]).stop()
