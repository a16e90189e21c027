"""Who gets what: pure, so every rule is a line."""

import random
from itertools import count
from typing import Any

import pytest
from msgspec.structs import replace

from comfyfleet.dispatch import Ask, Holder
from comfyfleet.dispatch.matching import (
    EVERY_STRUCTURE,
    LEANINGS,
    SKIPPED_ROWS_MAX,
    Block,
    Head,
    aged_priority,
    match,
)
from comfyfleet.dispatch.turns import Turns
from comfyfleet.kernel.ids import DispatchId, LaneId, TenantId, WorkerId, new_id

TENANT, OTHER = TenantId(new_id()), TenantId(new_id())
_numbers = count(1)


def a_head(lane: int = 1, **given: Any) -> Head:
    return Head(
        **{
            "id": DispatchId(new_id()),
            "lane": LaneId(lane),
            "tenant_id": TENANT,
            "structure_hash": f"hash-{lane}",
            "priority": 0,
            "fair_tag": 0.0,
            "waited_s": 1.0,
            "epoch": 0,
            "run_deadline_s": 60.0,
            **given,
        }
    )


def an_ask(*lanes: int, worker: WorkerId | None = None, warm: frozenset[str] = frozenset()) -> Ask:
    holder = Holder(worker or WorkerId(new_id()), 1)
    return Ask(holder, frozenset(LaneId(lane) for lane in lanes), 10, warm, poll_id=str(next(_numbers)))


def chosen(
    asks: list[Ask],
    heads: list[Head],
    blocks: dict[WorkerId, list[Block]] | None = None,
    turns: Turns | None = None,
) -> list[Head | None]:
    turns = turns if turns is not None else Turns()
    pairings = {pairing.ask: pairing.head for pairing in match(asks, heads, blocks or {}, turns)}
    return [pairings.get(ask) for ask in asks]


def test_a_worker_gets_only_what_its_lanes_hold() -> None:
    assert chosen([an_ask(2)], [a_head(1)]) == [None]
    assert chosen([an_ask()], [a_head(1)]) == [None]


def test_each_waiting_row_goes_to_one() -> None:
    heads = [a_head(), a_head()]
    found = chosen([an_ask(1) for _ in range(3)], heads)
    assert found == [heads[0], heads[1], None]


def test_priority_before_age_and_age_before_nothing() -> None:
    old, high, young = a_head(1, waited_s=200), a_head(2, priority=1, waited_s=1), a_head(3, waited_s=100)
    assert chosen([an_ask(1, 2, 3) for _ in range(3)], [old, high, young]) == [high, old, young]


def test_waiting_lifts_a_low_priority_above_a_high_one_in_the_end() -> None:
    low, high = a_head(1, waited_s=3 * LEANINGS.age_per_class_s + 1), a_head(2, priority=2)
    assert chosen([an_ask(1, 2)], [low, high]) == [low]
    assert aged_priority(0, 10**9) == LEANINGS.aged_classes_max
    assert aged_priority(0, -5) == 0


def test_age_lifts_a_priority_as_a_whole_and_not_one_tenants_long_row() -> None:
    turns = Turns()
    assert chosen([an_ask(1)], [a_head(1)], turns=turns) != [None]
    old = a_head(1, waited_s=10 * LEANINGS.age_per_class_s, fair_tag=60.0)
    first, high = a_head(2, waited_s=0.0), a_head(3, waited_s=0.0, priority=1)
    assert chosen([an_ask(1, 2)], [old, a_head(2, waited_s=0.0)], turns=turns) == [old]
    later = a_head(1, waited_s=10 * LEANINGS.age_per_class_s, fair_tag=120.0)
    assert chosen([an_ask(1, 2, 3)], [later, first, high], turns=turns) == [first]


def test_what_is_warm_goes_first_within_a_bounded_window() -> None:
    turns, ask = Turns(), an_ask(1, 2, warm=frozenset({"hash-2"}))
    cold, warm = a_head(1, waited_s=100), a_head(2, waited_s=5)
    assert chosen([ask], [cold, warm], turns=turns) == [warm]
    still = replace(cold, waited_s=100 + LEANINGS.affinity_window_s - 1)
    assert chosen([ask], [still, warm], turns=turns) == [warm]
    late = replace(cold, waited_s=100 + LEANINGS.affinity_window_s)
    assert chosen([ask], [late, warm], turns=turns) == [late]


def test_a_warm_lane_gets_only_so_far_ahead_of_its_turn() -> None:
    turns, ask = Turns(), an_ask(1, 2, warm=frozenset({"hash-2"}))
    cold = a_head(1)
    assert chosen([ask], [cold, a_head(2)], turns=turns) != [cold]
    assert chosen([ask], [cold, a_head(2, fair_tag=LEANINGS.affinity_lead_s - 1)], turns=turns) != [cold]
    assert chosen([ask], [cold, a_head(2, fair_tag=LEANINGS.affinity_lead_s)], turns=turns) == [cold]


def test_who_is_warm_chooses_before_who_is_not() -> None:
    anybody, warm = an_ask(1, 2), an_ask(1, 2, warm=frozenset({"hash-1"}))
    one, two = a_head(1, waited_s=9), a_head(2)
    assert chosen([anybody, warm], [one, two]) == [two, one]


def test_warmth_does_not_beat_priority() -> None:
    high, warm = a_head(1, priority=1, waited_s=1), a_head(2, waited_s=5)
    assert chosen([an_ask(1, 2, warm=frozenset({"hash-2"}))], [high, warm]) == [high]


@pytest.mark.parametrize("structure_hash", ["hash-1", EVERY_STRUCTURE])
def test_a_block_for_all_keeps_the_lane_away(structure_hash: str) -> None:
    ask = an_ask(1)
    block = Block(structure_hash, None, half_open=False, probing=False)
    assert chosen([ask], [a_head()], {ask.holder.worker_id: [block]}) == [None]
    assert chosen([an_ask(1)], [a_head()], {ask.holder.worker_id: [block]}) != [None]


def test_a_block_of_one_tenant_lets_the_others_pass() -> None:
    ask, theirs = an_ask(1), a_head(tenant_id=OTHER)
    block = Block("hash-1", TENANT, half_open=False, probing=False)
    assert chosen([ask], [a_head(), a_head(), theirs], {ask.holder.worker_id: [block]}) == [theirs]


def test_the_look_past_a_blocked_tenant_is_bounded() -> None:
    ask = an_ask(1)
    block = Block("hash-1", TENANT, half_open=False, probing=False)
    heads = [a_head() for _ in range(SKIPPED_ROWS_MAX)] + [a_head(tenant_id=OTHER)]
    assert chosen([ask], heads, {ask.holder.worker_id: [block]}) == [None]


def test_when_a_cooldown_is_over_exactly_one_of_500_goes_through() -> None:
    worker = WorkerId(new_id())
    asks = [an_ask(1, worker=worker) for _ in range(500)]
    block = Block("hash-1", None, half_open=True, probing=False)
    pairings = match(asks, [a_head() for _ in range(500)], {worker: [block]}, Turns())
    assert [pairing.probes for pairing in pairings] == ["hash-1"]
    busy = Block("hash-1", None, half_open=True, probing=True)
    assert match(asks, [a_head()], {worker: [busy]}, Turns()) == []


def test_nobody_idles_while_something_fits_and_nothing_goes_twice() -> None:
    chance = random.Random(11)
    for _ in range(200):
        heads = [a_head(chance.randint(1, 4), waited_s=chance.random() * 100) for _ in range(chance.randint(0, 8))]
        heads.sort(key=lambda head: head.lane)
        asks = [an_ask(*chance.sample(range(1, 5), chance.randint(0, 4))) for _ in range(chance.randint(0, 8))]
        found = chosen(asks, heads)
        given = [head for head in found if head is not None]
        assert len(given) == len({head.id for head in given})
        left = [head for head in heads if head not in given]
        for ask, head in zip(asks, found, strict=True):
            if head is None:
                assert not any(each.lane in ask.lanes for each in left)
            else:
                assert head.lane in ask.lanes


def test_nobody_gets_something_lesser_while_a_better_lane_was_not_read_to_its_end() -> None:
    high, low = a_head(1, priority=1), a_head(2)
    asks = [an_ask(1, 2), an_ask(1, 2), an_ask(2)]
    pairings = match(asks, [high, low], {}, Turns(), cut={LaneId(1)})
    assert [(pairing.ask, pairing.head) for pairing in pairings] == [(asks[0], high), (asks[2], low)]
