"""What a provider of machines must do: describe, launch, terminate. Adapters and the fake cloud follow this."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple, Protocol, runtime_checkable

from comfyfleet.scaling.model import LaunchRequest, Market, Place

TOKEN_CHARS_MAX = 64  # what AWS takes as a client token


class CloudState(StrEnum):
    """As the provider sees the machine."""

    PENDING = "pending"
    RUNNING = "running"
    STOPPING = "stopping"  # it will be gone soon: interrupted, or told to stop


class CloudMachine(NamedTuple):
    id: str
    state: CloudState
    launched_at_s: float
    market: Market
    machine_class: str
    zone: str

    @property
    def place(self) -> Place:
        return Place(self.machine_class, self.market, self.zone)


class LaunchProblem(StrEnum):
    CAPACITY = "capacity"  # there is none now: elsewhere, or later
    QUOTA = "quota"  # the account may not have more
    REFUSED = "refused"  # permissions, no such group, no such class
    PENDING = "pending"  # asked for, and not there yet: the same token asks again
    UNREACHABLE = "unreachable"  # no usable answer: the machines may have been launched, the same token tells


@dataclass(frozen=True, slots=True)
class LaunchError:
    problem: LaunchProblem
    text: str
    number: int = 1  # of machines that are missing


@dataclass(frozen=True, slots=True)
class LaunchAnswer:
    """`plan`: what a planned launch that is not over wants written down for its next try."""

    ids: tuple[str, ...]
    errors: tuple[LaunchError, ...] = ()
    plan: str | None = None


class Machines(Protocol):
    """One provider's machines of one fleet. `launch` is idempotent by token; `terminate` ignores unknown ids."""

    async def describe(self) -> Sequence[CloudMachine]: ...
    async def launch(self, request: LaunchRequest, token: str) -> LaunchAnswer: ...
    async def terminate(self, ids: Sequence[str]) -> None: ...


@runtime_checkable
class PlannedMachines(Machines, Protocol):
    """A provider that may lack launch tokens. What `plan_launch` returns is written down, once, before the provider is
    asked; `launch_planned` may be repeated with it. None: it has tokens, `launch` is used. `open_plans`: of launches
    that are not answered.

    `withdraw`: nothing is wanted and no machine is listed; whatever was asked for and did not come is taken back.
    """

    async def plan_launch(self, request: LaunchRequest, open_plans: Sequence[str]) -> str | None: ...
    async def launch_planned(self, request: LaunchRequest, plan: str) -> LaunchAnswer: ...
    async def withdraw(self) -> None: ...


def launch_token(fleet: str, decision: str, ordinal: int) -> str:
    """The same launch of the same decision has the same token, whichever replica sends it."""
    token = f"{fleet}-{decision}-{ordinal}"
    if len(token) <= TOKEN_CHARS_MAX and token.isascii():
        return token
    return f"{hashlib.sha256(token.encode()).hexdigest()[:48]}-{ordinal}"
