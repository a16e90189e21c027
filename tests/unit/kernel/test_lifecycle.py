"""One table of moves drives everything; here it is tried on all tables there are."""

import importlib
import pkgutil
from enum import StrEnum
from typing import Any

import pytest
import sqlalchemy as sa

import comfyfleet
from comfyfleet.db import tables
from comfyfleet.kernel.errors import IllegalMove
from comfyfleet.kernel.lifecycle import Lifecycle


def _all_lifecycles() -> list[Lifecycle[Any, Any]]:
    found = []
    for module in pkgutil.walk_packages(comfyfleet.__path__, "comfyfleet."):
        if module.name.endswith(".lifecycle") and ".kernel." not in module.name:
            values = vars(importlib.import_module(module.name)).values()
            found += [each for each in values if isinstance(each, Lifecycle)]
    return found


LIFECYCLES = _all_lifecycles()
# The tables whose `status` (or `state`) a lifecycle moves; a reservation is moved by the rows themselves.
TABLES = {
    "tenant": tables.tenants,
    "user": tables.users,
    "file": tables.files,
    "worker": tables.comfyui_workers,
    "dispatch": tables.ai_job_dispatches,
    "job": tables.ai_jobs,
    "video": tables.videos,
    "delivery": tables.webhook_deliveries,
    "run": tables.pipeline_runs,
    "candidate": tables.candidates,
    "alert": tables.alerts,
}


def test_there_are_lifecycles_to_try() -> None:
    assert {each.noun for each in LIFECYCLES} == {*TABLES, "job of the pool", "reservation"}


@pytest.mark.parametrize("lifecycle", LIFECYCLES, ids=lambda each: each.noun)
def test_every_state_and_event_moves_as_the_table_says_or_is_refused(lifecycle: Lifecycle[Any, Any]) -> None:
    for state in lifecycle.states:
        for event in lifecycle.events:
            if (state, event) in lifecycle.moves:
                assert lifecycle.next(state, event) == lifecycle.target(event)
                assert state in lifecycle.sources(event)
            else:
                assert state not in lifecycle.sources(event)
                with pytest.raises(IllegalMove, match=f"{lifecycle.noun} that is {state}"):
                    lifecycle.next(state, event)


@pytest.mark.parametrize("lifecycle", LIFECYCLES, ids=lambda each: each.noun)
def test_every_state_can_be_reached_and_is_in_the_diagram(lifecycle: Lifecycle[Any, Any]) -> None:
    reached = {lifecycle.initial, *lifecycle.moves.values()}
    assert reached == set(lifecycle.states)
    diagram = lifecycle.mermaid()
    for (source, event), target in lifecycle.moves.items():
        assert f"    {source} --> {target}: {event}" in diagram


@pytest.mark.parametrize("lifecycle", [each for each in LIFECYCLES if each.noun in TABLES], ids=lambda each: each.noun)
def test_the_database_allows_exactly_the_states_of_the_table(lifecycle: Lifecycle[Any, Any]) -> None:
    table = TABLES[lifecycle.noun]
    column = "status" if "status" in table.c else "state"
    check = next(
        each.sqltext
        for each in table.constraints
        if isinstance(each, sa.CheckConstraint) and str(each.name) == f"ck_{table.name}_{column}"
    )
    listed = ", ".join(f"'{state}'" for state in lifecycle.states)
    assert str(check) == f"{column} IN ({listed})"


def test_an_event_with_two_targets_is_refused_at_import() -> None:
    class State(StrEnum):
        A = "a"
        B = "b"

    class Event(StrEnum):
        GO = "go"

    with pytest.raises(ValueError, match="leads to both"):
        Lifecycle("thing", initial=State.A, moves={(State.A, Event.GO): State.B, (State.B, Event.GO): State.A})
