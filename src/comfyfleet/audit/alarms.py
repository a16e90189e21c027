"""Alarms: an audit chain does not hold. Credits stop, jobs go on, until an operator acknowledges it."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Self
from uuid import UUID

from comfyfleet.audit import sql
from comfyfleet.db import ControlTx
from comfyfleet.kernel.errors import CreditsStopped, NotFound

ALARMS_MAX = 100


@dataclass(frozen=True, slots=True)
class FoundFault:
    """`pool`: empty for the central database. `seq`: the first row that is missing or not what it was."""

    pool: str
    chain: str
    seq: int
    problem: str


@dataclass(frozen=True, slots=True)
class Alarm:
    id: UUID
    pool: str
    chain: str
    seq: int
    problem: str
    found_at: datetime
    acknowledged_at: datetime | None
    acknowledged_by: str | None

    @classmethod
    def from_row(cls, row: Any) -> Self:
        return cls(*(getattr(row, name) for name in cls.__slots__))


async def raise_alarms(tx: ControlTx, faults: Sequence[FoundFault]) -> list[Alarm]:
    """The new ones: what was raised before, acknowledged or not, is not raised again."""
    raised = []
    for each in faults[:ALARMS_MAX]:
        insert = sql.raise_alarm(pool=each.pool, chain=each.chain, seq=each.seq, problem=each.problem)
        if (row := await tx.maybe(insert)) is not None:
            raised.append(Alarm.from_row(row))
    return raised


async def open_alarms(tx: ControlTx) -> list[Alarm]:
    """The oldest hundred that nobody has acknowledged."""
    return [Alarm.from_row(row) for row in await tx.all(sql.open_alarms(rows=ALARMS_MAX))]


async def acknowledged_alarms(tx: ControlTx) -> list[Alarm]:
    return [Alarm.from_row(row) for row in await tx.all(sql.acknowledged_alarms())]


async def acknowledge_alarm(tx: ControlTx, alarm_id: UUID, *, by: str) -> Alarm:
    """Acknowledged twice is acknowledged once."""
    row = await tx.maybe(sql.acknowledge_alarm(alarm_id, by=by)) or await tx.maybe(sql.alarm_by_id(alarm_id))
    if row is None:
        raise NotFound("audit alarm", alarm_id)
    return Alarm.from_row(row)


async def require_no_alarm(tx: ControlTx) -> None:
    """Before tokens come in. Raises CreditsStopped."""
    if await tx.all(sql.open_alarms(rows=1)):
        raise CreditsStopped
