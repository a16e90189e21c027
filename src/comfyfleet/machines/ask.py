"""A provider is asked: within a time, and what it answers is checked. Never while a transaction is open."""

import asyncio
import math
from collections.abc import Awaitable, Sequence
from typing import TypeVar

from comfyfleet.kernel.durations import seconds_text
from comfyfleet.kernel.errors import FleetError
from comfyfleet.machines.model import AdapterProblem, OpenLaunch
from comfyfleet.scaling import (
    CloudMachine,
    LaunchAnswer,
    LaunchError,
    LaunchProblem,
    LaunchRequest,
    Machines,
    PlannedMachines,
)

# Beyond any adapter's own limit: for one that hangs all the same.
ANSWERS_WITHIN_S = 330.0
ID_CHARS_MAX = 128
MACHINES_MAX = 100_000
PLAN_CHARS_MAX = 2_000
T = TypeVar("T")


async def list_machines(adapter: Machines, name: str) -> list[CloudMachine]:
    """Raises AdapterProblem."""
    listed = await _answer(adapter.describe(), name, "describe")
    if len(listed) > MACHINES_MAX:
        raise AdapterProblem(name, f"lists {len(listed)} machines, at most {MACHINES_MAX} are read")
    _check_ids([each.id for each in listed], name)
    for each in listed:
        if not math.isfinite(each.launched_at_s):
            raise AdapterProblem(name, f"machine {each.id!r} was launched at {each.launched_at_s}, which is no time")
    return list(listed)


async def plan_launch(adapter: PlannedMachines, name: str, launch: OpenLaunch, open_plans: Sequence[str]) -> str | None:
    """None: it is launched by its token. Raises AdapterProblem."""
    plan = await _answer(adapter.plan_launch(launch.request, open_plans), name, "plan_launch")
    if plan is not None and len(plan) > PLAN_CHARS_MAX:
        raise AdapterProblem(name, f"made a plan of {len(plan)} characters, at most {PLAN_CHARS_MAX} are kept")
    return plan


async def launch_machines(adapter: Machines, name: str, launch: OpenLaunch, plan: str | None) -> LaunchAnswer:
    """An answer that makes no sense is no answer: machines may run, and the same token asks for them again."""
    request = launch.request
    try:
        if plan is not None and isinstance(adapter, PlannedMachines):
            asked = adapter.launch_planned(request, plan)
        else:
            asked = adapter.launch(request, launch.token)
        answer = await _answer(asked, name, "launch")
        _check_ids(answer.ids, name)
        if len(answer.ids) > request.number:
            raise AdapterProblem(name, f"launched {len(answer.ids)} machines where {request.number} were asked for")
    except AdapterProblem as problem:
        return unreachable(request, problem)
    missing = request.number - len(answer.ids)
    if missing and not answer.errors:
        text = f"{name}: launched {len(answer.ids)} of {request.number} machines, and did not say why"
        return LaunchAnswer(answer.ids, (LaunchError(LaunchProblem.CAPACITY, text, missing),))
    return answer


def unreachable(request: LaunchRequest, problem: AdapterProblem) -> LaunchAnswer:
    return LaunchAnswer((), (LaunchError(LaunchProblem.UNREACHABLE, problem.message, request.number),))


async def withdraw_launches(adapter: PlannedMachines, name: str) -> None:
    """Raises AdapterProblem."""
    await _answer(adapter.withdraw(), name, "withdraw")


async def end_machines(adapter: Machines, name: str, ids: Sequence[str]) -> None:
    """Raises AdapterProblem."""
    await _answer(adapter.terminate(ids), name, "terminate")


async def _answer(asked: Awaitable[T], name: str, what: str) -> T:
    try:
        async with asyncio.timeout(ANSWERS_WITHIN_S):
            return await asked
    except TimeoutError:
        raise AdapterProblem(name, f"gave no answer to {what} within {seconds_text(ANSWERS_WITHIN_S)}") from None
    except AdapterProblem:
        raise
    except FleetError as problem:
        raise AdapterProblem(name, problem.message) from None
    except Exception as problem:  # whatever a provider's library raises, the fleet is held and not the loop
        raise AdapterProblem(name, f"failed at {what}: {type(problem).__name__}: {problem}") from None


def _check_ids(ids: Sequence[str], name: str) -> None:
    if len(set(ids)) < len(ids):
        twice = next(each for each in ids if list(ids).count(each) > 1)
        raise AdapterProblem(name, f"names machine {twice!r} twice")
    for each in ids:
        if not each or len(each) > ID_CHARS_MAX or not each.isprintable():
            raise AdapterProblem(name, f"names a machine {each[:ID_CHARS_MAX]!r}; use 1 to {ID_CHARS_MAX} characters")
