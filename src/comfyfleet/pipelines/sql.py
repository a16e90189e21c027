"""Statements over pipelines, their runs, and the jobs of runs. Whoever changes a run holds its row."""

from typing import Any
from uuid import UUID

import sqlalchemy as sa

from comfyfleet.db.dialect import HeldToTheEnd, insert_once, now, seconds_from_now
from comfyfleet.db.direct import built_once, several
from comfyfleet.db.scope import BOUND_TENANT
from comfyfleet.db.tables import pipeline_run_steps, pipeline_runs, pipelines, run_jobs
from comfyfleet.kernel.ids import JobId, PipelineId, RunId, UserId
from comfyfleet.pipelines.lifecycle import RUN, RunEvent, RunStatus
from comfyfleet.pipelines.model import NewPipeline, NewRun, RunJobState

p, r, s, j = pipelines, pipeline_runs, pipeline_run_steps, run_jobs

COUNTS = ("made", "alive", "in_flight", "started", "failures", "votes")
# Over by its budget's clock.
OVER_TIME = sa.and_(r.c.ends_at.is_not(None), r.c.ends_at <= now()).label("is_over_time")
# Bound when a statement runs that is built once: none is called like a column that it sets.
OF_RUN, OF_JOB = sa.bindparam("of_run", type_=sa.Uuid()), sa.bindparam("of_job", type_=sa.Uuid())
AT_STEP = sa.bindparam("at_step", type_=sa.Integer())
ADVANCING = [RunStatus.PENDING, RunStatus.RUNNING, RunStatus.WAITING_FOR_APPROVAL]


# ── pipelines ───────────────────────────────────────────────────────────────────────────────


def insert_pipeline(pipeline_id: PipelineId, new: NewPipeline, *, version: int, user_id: UserId) -> sa.Insert:
    """Nothing comes back if somebody else has made this version at the same moment."""
    return (
        insert_once(p)
        .values(
            id=pipeline_id,
            tenant_id=BOUND_TENANT,
            slug=new.slug,
            version=version,
            name=new.name,
            description=new.description,
            steps=[step.as_json() for step in new.steps],
            created_by=user_id,
            created_at=now(),
        )
        .returning(*p.c)
    )


def newest_pipeline(slug: str) -> sa.Select[Any]:
    return sa.select(*p.c).where(p.c.tenant_id == BOUND_TENANT, p.c.slug == slug).order_by(p.c.version.desc()).limit(1)


def pipeline_by_id(pipeline_id: PipelineId) -> sa.Select[Any]:
    return sa.select(*p.c).where(p.c.tenant_id == BOUND_TENANT, p.c.id == pipeline_id)


@built_once
def pipelines_by_id(count: int) -> sa.Select[Any]:
    return sa.select(*p.c).where(p.c.tenant_id == BOUND_TENANT, p.c.id.in_(several("pipeline", count)))


def pipeline_page(*, after: UUID | None, rows: int) -> sa.Select[Any]:
    """The newest version of each, newest first."""
    last = (
        sa.select(p.c.slug, sa.func.max(p.c.version).label("version"))
        .where(p.c.tenant_id == BOUND_TENANT)
        .group_by(p.c.slug)
        .subquery("last")
    )
    page = (
        sa.select(*p.c)
        .join(last, sa.and_(last.c.slug == p.c.slug, last.c.version == p.c.version))
        .where(p.c.tenant_id == BOUND_TENANT, p.c.archived_at.is_(None))
    )
    return (page.where(p.c.id < after) if after else page).order_by(p.c.id.desc()).limit(rows + 1)


def version_page(slug: str, *, after: UUID | None, rows: int) -> sa.Select[Any]:
    page = sa.select(*p.c).where(p.c.tenant_id == BOUND_TENANT, p.c.slug == slug)
    return (page.where(p.c.id < after) if after else page).order_by(p.c.id.desc()).limit(rows + 1)


def archive_pipeline(slug: str) -> sa.Update:
    return (
        sa.update(p)
        .where(p.c.tenant_id == BOUND_TENANT, p.c.slug == slug, p.c.archived_at.is_(None))
        .values(archived_at=now())
    )


# ── runs ────────────────────────────────────────────────────────────────────────────────────


def insert_run(run_id: RunId, new: NewRun) -> sa.Insert:
    """Nothing comes back if the key was used before."""
    given = {
        name: getattr(new, name)
        for name in NewRun.__dataclass_fields__
        if name not in ("hours_max", "approval", "variables")
    }
    return (
        insert_once(r)
        .values(
            id=run_id,
            tenant_id=BOUND_TENANT,
            status=RUN.initial,
            variables=dict(new.variables),
            approval=new.approval.as_json(),
            ends_at=None if new.hours_max is None else seconds_from_now(new.hours_max * 3600),
            tokens_spent=0,
            jobs_started=0,
            in_flight=0,
            last_turn=0,
            advance_due_at=now(),
            created_at=now(),
            **given,
        )
        .returning(*r.c)
    )


def insert_steps(run_id: RunId) -> sa.Insert:
    given = {name: sa.bindparam(name, type_=s.c[name].type) for name in ("position", "variants")}
    return sa.insert(s).values(tenant_id=BOUND_TENANT, run_id=run_id, **dict.fromkeys(COUNTS, 0), **given)


def run_by_key(user_id: UserId, key: str) -> sa.Select[Any]:
    return sa.select(*r.c).where(r.c.tenant_id == BOUND_TENANT, r.c.user_id == user_id, r.c.idempotency_key == key)


def run_of_user(run_id: RunId, user_id: UserId) -> sa.Select[Any]:
    return sa.select(*r.c).where(r.c.tenant_id == BOUND_TENANT, r.c.id == run_id, r.c.user_id == user_id)


def hold_run(run_id: RunId, user_id: UserId) -> sa.Select[Any]:
    return run_of_user(run_id, user_id).with_for_update()


def run_of_house(run_id: RunId) -> sa.Select[Any]:
    return sa.select(*r.c).where(r.c.tenant_id == BOUND_TENANT, r.c.id == run_id)


def paused_because(prefix: str, *, rows: int) -> sa.Select[Any]:
    """Over a whole pool: runs that paused for a reason that begins so."""
    return (
        sa.select(r.c.id, r.c.tenant_id, r.c.status_reason)
        .where(r.c.status == RunStatus.PAUSED, r.c.status_reason.startswith(prefix, autoescape=True))
        .order_by(r.c.id)
        .limit(rows)
    )


@built_once
def hold_run_of_house() -> sa.Select[Any]:
    return sa.select(*r.c).where(r.c.tenant_id == BOUND_TENANT, r.c.id == OF_RUN).with_for_update()


def run_page(user_id: UserId, *, status: RunStatus | None, after: UUID | None, rows: int) -> sa.Select[Any]:
    page = sa.select(*r.c).where(r.c.tenant_id == BOUND_TENANT, r.c.user_id == user_id)
    if status:
        page = page.where(r.c.status == status)
    return (page.where(r.c.id < after) if after else page).order_by(r.c.id.desc()).limit(rows + 1)


def move_run(run_id: RunId, event: RunEvent, *, reason: str | None = None, ends: bool = False) -> sa.Update:
    """Only from a state that allows it; whoever moves it knows why. Nobody need look at one that stands still."""
    stands_still = {"advance_due_at": None} if ends or event is RunEvent.PAUSE else {}
    return (
        sa.update(r)
        .where(r.c.tenant_id == BOUND_TENANT, r.c.id == run_id, r.c.status.in_(RUN.sources(event)))
        .values(status=RUN.target(event), status_reason=reason, ended_at=now() if ends else None, **stands_still)
        .returning(*r.c)
    )


def start_run(run_id: RunId) -> sa.Executable:
    return move_run(run_id, RunEvent.START).values(started_at=now())


@built_once
def make_due() -> sa.Update:
    return (
        sa.update(r)
        .where(r.c.tenant_id == BOUND_TENANT, r.c.id == OF_RUN, r.c.status.in_(ADVANCING))
        .values(advance_due_at=now(), score_due_at=_now_if_scored())
    )


def make_all_due() -> sa.Update:
    return (
        sa.update(r)
        .where(r.c.tenant_id == BOUND_TENANT, r.c.status.in_(ADVANCING), r.c.advance_due_at.is_(None))
        .values(advance_due_at=now())
    )


def _now_if_scored() -> Any:
    """One that somebody scores just now stays his."""
    is_free = sa.and_(r.c.approval["kind"].as_string() == "scorer", r.c.score_due_at.is_(None))
    return sa.case((is_free, now()), else_=r.c.score_due_at)


def set_budget(run_id: RunId, *, tokens_max: int | None, jobs_max: int | None, hours_more: float | None) -> sa.Update:
    given: dict[str, Any] = {"tokens_max": tokens_max, "jobs_max": jobs_max}
    if hours_more is not None:
        given["ends_at"] = seconds_from_now(hours_more * 3600)
    values = {name: value for name, value in given.items() if value is not None}
    return sa.update(r).where(r.c.tenant_id == BOUND_TENANT, r.c.id == run_id).values(**values)


# ── advance ─────────────────────────────────────────────────────────────────────────────────


@built_once
def due_runs(*, rows: int) -> sa.Select[Any]:
    """Over a whole pool, with what their steps are. Of each tenant who has waited longest first: one whose many runs
    wait for room hides nobody else's."""
    place = sa.func.row_number().over(partition_by=r.c.tenant_id, order_by=(r.c.advance_due_at, r.c.id))
    due = (
        sa.select(r.c.id, r.c.tenant_id, r.c.pipeline_id, r.c.advance_due_at, place.label("place"))
        .where(r.c.advance_due_at.is_not(None))
        .subquery("due")
    )
    return (
        sa.select(due.c.id, due.c.tenant_id, p.c.steps)
        .join(p, sa.and_(p.c.tenant_id == due.c.tenant_id, p.c.id == due.c.pipeline_id))
        .order_by(due.c.place, due.c.advance_due_at)
        .limit(rows)
    )


@built_once
def hold_tenant() -> sa.Select[Any]:
    """One replica at a time places jobs for a tenant's runs: so the tenant's limit and the turns are exact."""
    return sa.select(HeldToTheEnd(BOUND_TENANT))


@built_once
def hold_due(count: int) -> sa.Select[Any]:
    """Whoever is next in turn first. One that somebody else holds stays due."""
    return (
        sa.select(*r.c, OVER_TIME)
        .where(
            r.c.tenant_id == BOUND_TENANT,
            r.c.id.in_(several("run", count)),
            r.c.advance_due_at.is_not(None),
            r.c.status.in_(ADVANCING),
        )
        .order_by(r.c.last_turn, r.c.id)
        .with_for_update(skip_locked=True)
    )


def still_due(run_ids: list[RunId]) -> sa.Select[Any]:
    """Whoever holds them."""
    return sa.select(r.c.id).where(
        r.c.tenant_id == BOUND_TENANT,
        r.c.id.in_(run_ids),
        r.c.advance_due_at.is_not(None),
        r.c.status.in_(ADVANCING),
    )


@built_once
def others_due(count: int) -> sa.Select[Any]:
    """One that is, if any: of the tenant's runs, but these."""
    due = r.c.tenant_id == BOUND_TENANT, r.c.advance_due_at.is_not(None)
    return sa.select(r.c.id).where(*due, r.c.id.not_in(several("run", count))).limit(1)


@built_once
def jobs_under_way(*, rows: int) -> sa.Select[Any]:
    """Of all the tenant's runs; so many at most."""
    return sa.select(j.c.job_id).where(j.c.tenant_id == BOUND_TENANT, j.c.state == _in_flight()).limit(rows)


@built_once
def steps_of(count: int) -> sa.Select[Any]:
    mine = s.c.tenant_id == BOUND_TENANT, s.c.run_id.in_(several("run", count))
    return sa.select(*s.c).where(*mine).order_by(s.c.run_id, s.c.position)


@built_once
def insert_job() -> sa.Insert:
    names = ("job_id", "run_id", "position", "parent_id", "place", "ordinal", "seed", "tokens")
    given = {name: sa.bindparam(name, type_=j.c[name].type) for name in names}
    return sa.insert(j).values(tenant_id=BOUND_TENANT, state=RunJobState.IN_FLIGHT, created_at=now(), **given)


@built_once
def count_step() -> sa.Update:
    return (
        sa.update(s)
        .where(s.c.tenant_id == BOUND_TENANT, s.c.run_id == OF_RUN, s.c.position == AT_STEP)
        .values(**{name: s.c[name] + sa.bindparam(f"by_{name}", type_=sa.Integer()) for name in COUNTS})
    )


@built_once
def count_run() -> sa.Update:
    return (
        sa.update(r)
        .where(r.c.tenant_id == BOUND_TENANT, r.c.id == OF_RUN)
        .values(
            in_flight=r.c.in_flight + sa.bindparam("by_in_flight", type_=sa.Integer()),
            jobs_started=r.c.jobs_started + sa.bindparam("by_jobs", type_=sa.Integer()),
            tokens_spent=r.c.tokens_spent + sa.bindparam("by_tokens", type_=sa.BigInteger()),
        )
    )


@built_once
def count_and_make_due() -> sa.Update:
    """One that is paused or over is counted, and left in peace."""
    goes_on = r.c.status.in_(ADVANCING)
    return count_run().values(
        advance_due_at=sa.case((goes_on, now()), else_=r.c.advance_due_at),
        score_due_at=sa.case((goes_on, _now_if_scored()), else_=r.c.score_due_at),
    )


@built_once
def mark_served(*, stays_due: bool) -> sa.Update:
    """With what it began, and its turn. One that stays due goes to the end of the queue: others are looked at first."""
    return count_run().values(
        advance_due_at=now() if stays_due else None, last_turn=sa.bindparam("turn", type_=sa.BigInteger())
    )


# ── gates ───────────────────────────────────────────────────────────────────────────────────


def set_gate(run_id: RunId, position: int, *, top: int | None, by: str | None) -> sa.Update:
    """`top` None: closed."""
    return (
        sa.update(s)
        .where(s.c.tenant_id == BOUND_TENANT, s.c.run_id == run_id, s.c.position == position)
        .values(top=top, approved_by=by, approved_at=None if top is None else now())
    )


# ── the jobs of runs ────────────────────────────────────────────────────────────────────────


@built_once
def hold_runs_of_jobs(count: int) -> sa.Select[Any]:
    """In one order, whoever asks: two who settle jobs of the same runs must not wait for each other."""
    mine = sa.select(j.c.run_id).where(j.c.tenant_id == BOUND_TENANT, j.c.job_id.in_(several("job", count)))
    return sa.select(r.c.id).where(r.c.tenant_id == BOUND_TENANT, r.c.id.in_(mine)).order_by(r.c.id).with_for_update()


@built_once
def job_by_id() -> sa.Select[Any]:
    return sa.select(*j.c).where(j.c.tenant_id == BOUND_TENANT, j.c.job_id == OF_JOB)


def job_of_run(run_id: RunId, job_id: JobId) -> sa.Select[Any]:
    return sa.select(*j.c).where(j.c.tenant_id == BOUND_TENANT, j.c.job_id == job_id, j.c.run_id == run_id)


@built_once
def end_job(state: RunJobState) -> sa.Update:
    return (
        sa.update(j)
        .where(j.c.tenant_id == BOUND_TENANT, j.c.job_id == OF_JOB, j.c.state == _in_flight())
        .values(state=state, error=sa.bindparam("why", type_=sa.Text()), ended_at=now())
        .returning(*j.c)
    )


def mark_retried(job_id: JobId) -> sa.Update:
    return (
        sa.update(j)
        .where(j.c.tenant_id == BOUND_TENANT, j.c.job_id == job_id, j.c.state == RunJobState.FAILED)
        .values(state=RunJobState.RETRIED)
        .returning(*j.c)
    )


def jobs_in_flight(run_id: RunId) -> sa.Select[Any]:
    return sa.select(j.c.job_id).where(j.c.tenant_id == BOUND_TENANT, j.c.run_id == run_id, j.c.state == _in_flight())


def last_error(run_id: RunId) -> sa.Select[Any]:
    return (
        sa.select(j.c.error)
        .where(j.c.tenant_id == BOUND_TENANT, j.c.run_id == run_id, j.c.state == RunJobState.FAILED)
        .order_by(j.c.job_id.desc())
        .limit(1)
    )


def job_page(run_id: RunId, *, state: RunJobState | None, after: UUID | None, rows: int) -> sa.Select[Any]:
    page = sa.select(*j.c).where(j.c.tenant_id == BOUND_TENANT, j.c.run_id == run_id)
    if state:
        page = page.where(j.c.state == state)
    return (page.where(j.c.job_id < after) if after else page).order_by(j.c.job_id.desc()).limit(rows + 1)


def _in_flight() -> Any:
    # Written into the statement: SQLite sees its partial index only behind plain words.
    return sa.bindparam("under_way", RunJobState.IN_FLIGHT.value, type_=sa.Text(), literal_execute=True)
