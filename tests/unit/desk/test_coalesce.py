"""Callers share a statement, and each sees an answer of its own. The statement here is a function under control."""

import asyncio
from collections.abc import Sequence

import pytest

from comfyfleet.desk.coalesce import Coalescer
from comfyfleet.kernel.errors import DatabaseUnavailable, FleetError, NotFound


class Statement:
    """Answers each word in capitals, when it is let go."""

    def __init__(self, *, held: bool = False) -> None:
        self.batches: list[list[str]] = []
        self.in_flight = self.most_in_flight = 0
        self.gate = asyncio.Event()
        self.left = asyncio.Event()
        if not held:
            self.gate.set()

    async def run(self, words: list[str]) -> Sequence[str | FleetError]:
        self.batches.append(words)
        self.in_flight += 1
        self.most_in_flight = max(self.most_in_flight, self.in_flight)
        self.left.set()
        try:
            await self.gate.wait()
        finally:
            self.in_flight -= 1
        if "away" in words:
            raise DatabaseUnavailable("central")
        if "poison" in words:
            raise ValueError("a word the statement cannot take")
        return [NotFound("word", word) if word == "unknown" else word.upper() for word in words]


def ask_all(coalescer: Coalescer[str, str], *words: str) -> list["asyncio.Task[str]"]:
    return [asyncio.create_task(coalescer.ask(word)) for word in words]


async def answers(tasks: list["asyncio.Task[str]"]) -> list[str | BaseException]:
    return await asyncio.gather(*tasks, return_exceptions=True)


async def test_who_comes_alone_is_served_at_once_without_a_timer() -> None:
    statement = Statement()
    coalescer = Coalescer(statement.run)
    turns = 0

    async def count_turns() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    counting = asyncio.create_task(count_turns())
    assert await coalescer.ask("one") == "ONE"
    assert turns <= 5, "a few turns of the loop, and nothing that waits for time"
    counting.cancel()


async def test_those_who_come_at_once_share_one_statement() -> None:
    statement = Statement()
    coalescer = Coalescer(statement.run)
    assert await answers(ask_all(coalescer, "a", "b", "c")) == ["A", "B", "C"]
    assert statement.batches == [["a", "b", "c"]]
    assert coalescer.batches == 1


async def test_while_one_is_out_the_next_gathers_and_never_two_are_out() -> None:
    statement = Statement(held=True)
    coalescer = Coalescer(statement.run)
    first = ask_all(coalescer, "a")
    await statement.left.wait()
    later = ask_all(coalescer, "b", "c", "d")
    await asyncio.sleep(0)
    assert statement.batches == [["a"]]
    statement.gate.set()
    assert await answers(first + later) == ["A", "B", "C", "D"]
    assert statement.batches == [["a"], ["b", "c", "d"]]
    assert statement.most_in_flight == 1


async def test_a_batch_has_an_end() -> None:
    statement = Statement()
    coalescer = Coalescer(statement.run, batch_max=2)
    assert await answers(ask_all(coalescer, *"abcde")) == list("ABCDE")
    assert [len(batch) for batch in statement.batches] == [2, 2, 1]


async def test_one_that_upsets_the_statement_fails_alone() -> None:
    statement = Statement()
    found = await answers(ask_all(Coalescer(statement.run), "a", "poison", "c"))
    assert (found[0], found[2]) == ("A", "C")
    assert isinstance(found[1], ValueError)


async def test_one_that_is_refused_is_refused_alone() -> None:
    statement = Statement()
    found = await answers(ask_all(Coalescer(statement.run), "a", "unknown", "c"))
    assert (found[0], found[2]) == ("A", "C")
    assert isinstance(found[1], NotFound)
    assert len(statement.batches) == 1, "nobody asks again for it"


async def test_when_the_database_is_away_all_are_told_so_and_the_next_are_served() -> None:
    statement = Statement()
    coalescer = Coalescer(statement.run)
    found = await answers(ask_all(coalescer, "a", "away", "c"))
    assert [type(each) for each in found] == [DatabaseUnavailable] * 3
    assert len(statement.batches) == 1, "an outage is not tried member by member"
    assert await coalescer.ask("again") == "AGAIN"


async def test_what_nobody_claims_any_more_is_handed_to_whoever_looks_after_it() -> None:
    statement, unclaimed = Statement(held=True), list[tuple[str, str]]()
    coalescer = Coalescer(statement.run, on_unclaimed=lambda word, answer: unclaimed.append((word, answer)))
    gone, stays = ask_all(coalescer, "gone", "stays")
    await statement.left.wait()
    gone.cancel()
    statement.gate.set()
    assert await stays == "STAYS"
    assert unclaimed == [("gone", "GONE")]


async def test_who_went_away_before_the_batch_left_takes_nothing() -> None:
    statement, unclaimed = Statement(held=True), list[tuple[str, str]]()
    coalescer = Coalescer(statement.run, on_unclaimed=lambda word, answer: unclaimed.append((word, answer)))
    first = ask_all(coalescer, "a")
    await statement.left.wait()
    gone, stays = ask_all(coalescer, "gone", "stays")
    await asyncio.sleep(0)
    gone.cancel()
    await asyncio.sleep(0)
    statement.gate.set()
    assert await answers([*first, stays]) == ["A", "STAYS"]
    assert statement.batches == [["a"], ["stays"]]
    assert unclaimed == []


async def test_one_who_is_refused_and_gone_leaves_nothing_behind() -> None:
    statement, unclaimed = Statement(held=True), list[tuple[str, str]]()
    coalescer = Coalescer(statement.run, on_unclaimed=lambda word, answer: unclaimed.append((word, answer)))
    gone, stays = ask_all(coalescer, "unknown", "stays")
    await statement.left.wait()
    gone.cancel()
    statement.gate.set()
    assert await stays == "STAYS"
    assert unclaimed == []


@pytest.mark.parametrize("count", [1, 2, 700])
async def test_every_caller_gets_the_answer_to_its_own_question(count: int) -> None:
    words = [f"w{number}" for number in range(count)]
    assert await answers(ask_all(Coalescer(Statement().run), *words)) == [word.upper() for word in words]
