"""What the databases say of a user's runs: how each stands, in numbers that a page can show without asking again."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from comfyfleet.db import TenantTx
from comfyfleet.kernel.ids import RunId, UserId
from comfyfleet.live import sql


@dataclass(frozen=True, slots=True)
class StepState:
    """`top`: its gate is open for so many; none: it is closed."""

    position: int
    made: int
    alive: int
    in_flight: int
    failures: int
    votes: int
    top: int | None


@dataclass(frozen=True, slots=True)
class RunState:
    run_id: RunId
    status: str
    status_reason: str | None
    in_flight: int
    jobs_started: int
    jobs_max: int | None
    tokens_spent: int
    tokens_max: int | None
    ended_at: datetime | None
    steps: tuple[StepState, ...]

    def told(self) -> dict[str, Any]:
        return {**asdict(self), "run_id": str(self.run_id)}


async def newest_runs(tx: TenantTx, user_id: UserId, *, rows: int) -> list[RunState]:
    """A user's newest, the oldest of them first."""
    return await _with_steps(tx, list(reversed(await tx.all(sql.newest_runs_of(user_id, rows=rows)))))


async def read_runs(tx: TenantTx, user_id: UserId, run_ids: Sequence[RunId]) -> list[RunState]:
    return await _with_steps(tx, await tx.all(sql.runs_of(user_id, list(run_ids)))) if run_ids else []


async def _with_steps(tx: TenantTx, rows: Sequence[Any]) -> list[RunState]:
    steps: dict[RunId, list[StepState]] = defaultdict(list)
    for row in await tx.all(sql.steps_of_runs([row.id for row in rows])) if rows else []:
        steps[row.run_id].append(StepState(*(getattr(row, name) for name in StepState.__dataclass_fields__)))
    return [
        RunState(
            run_id=row.id,
            status=row.status,
            status_reason=row.status_reason,
            in_flight=row.in_flight,
            jobs_started=row.jobs_started,
            jobs_max=row.jobs_max,
            tokens_spent=row.tokens_spent,
            tokens_max=row.tokens_max,
            ended_at=row.ended_at,
            steps=tuple(steps[row.id]),
        )
        for row in rows
    ]
