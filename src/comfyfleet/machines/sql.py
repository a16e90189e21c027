"""Statements over fleets that scale. Each walks an index: they run every few seconds, beside a long queue."""

from datetime import datetime
from typing import Any
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql

from comfyfleet.db.dialect import SecondsBetween, batch_rows, constant, now, seconds_from_now
from comfyfleet.db.tables import (
    ai_job_dispatches,
    comfyui_fleets,
    comfyui_workers,
    comfyui_workflow_fleets,
    dispatch_attempts,
    fleet_decisions,
    fleet_inventories,
    fleet_launches,
    fleet_machines,
    fleet_scaling,
    lanes,
    workflows,
)
from comfyfleet.dispatch.lifecycle import DispatchStatus
from comfyfleet.fleet.lifecycle import LIVE
from comfyfleet.kernel.ids import DispatchId, FleetId

s, e, n, m = fleet_scaling, fleet_decisions, fleet_launches, fleet_machines
f, w, a, d, t = comfyui_fleets, comfyui_workers, comfyui_workflow_fleets, ai_job_dispatches, dispatch_attempts
# A machine that the provider does not list so soon after its launch may still come up.
UNLISTED_S = 60.0
WORKER_GONE_S = 86_400.0


def time_now() -> sa.Select[Any]:
    return sa.select(now().label("at"))


def _given(table: sa.Table) -> dict[str, Any]:
    """Each column by a parameter: `new_` and its name."""
    return {each.name: sa.bindparam(f"new_{each.name}", type_=each.type) for each in table.c}


# ── settings ────────────────────────────────────────────────────────────────────────────────


def write_settings(
    fleet_id: FleetId, *, settings: str, max_workers: int, adapter: str, adapter_settings: str, state: str
) -> sa.Insert:
    """`state` is for a fleet that did not scale before."""
    said = {
        "settings": settings,
        "max_workers": max_workers,
        "adapter": adapter,
        "adapter_settings": adapter_settings,
        "updated_at": now(),
    }
    insert = postgresql.insert(s).values(fleet_id=fleet_id, state=state, generation=1, is_empty=True, **said)
    changed = {**said, "generation": s.c.generation + 1, "is_empty": True, "problem": None}
    return insert.on_conflict_do_update(index_elements=[s.c.fleet_id], set_=changed).returning(*s.c)


def drop_settings(fleet_id: FleetId) -> sa.Delete:
    """Only while no machine of it is known to run, and none is being asked for."""
    runs = sa.exists().where(m.c.fleet_id == fleet_id, m.c.ended_at.is_(None))
    asked = sa.exists().where(n.c.fleet_id == fleet_id, n.c.answered_at.is_(None))
    return sa.delete(s).where(s.c.fleet_id == fleet_id, ~runs, ~asked)


def scaling_of(fleet_id: FleetId) -> sa.Select[Any]:
    return _scaling().where(s.c.fleet_id == fleet_id)


def lock_scaling(fleet_id: FleetId) -> sa.Select[Any]:
    return sa.select(*s.c).where(s.c.fleet_id == fleet_id).with_for_update()


def _scaling() -> sa.Select[Any]:
    return sa.select(*s.c, f.c.slug, f.c.stage).join(f, f.c.id == s.c.fleet_id)


# ── turns ───────────────────────────────────────────────────────────────────────────────────


def adapters_in_use() -> sa.Select[Any]:
    """Of all fleets that scale."""
    return sa.select(s.c.fleet_id, f.c.slug, f.c.stage, s.c.adapter, s.c.adapter_settings).join(
        f, f.c.id == s.c.fleet_id
    )


def hold_due(*, holder: str, every_s: float, hold_s: float) -> sa.Update:
    """Those whose turn it is, and those that an order may wake; held by this replica until it releases them."""
    free = sa.or_(s.c.held_until.is_(None), s.c.held_until < now())
    due = sa.or_(s.c.decided_at.is_(None), s.c.decided_at < seconds_from_now(-every_s), s.c.is_empty)
    return (
        sa.update(s)
        .where(free, due)
        .values(held_by=holder, held_until=seconds_from_now(hold_s))
        .returning(
            s.c.fleet_id,
            (SecondsBetween(sa.func.coalesce(s.c.decided_at, s.c.updated_at), now()) >= every_s).label("is_due"),
            s.c.decided_at,
        )
    )


def any_empty() -> sa.Select[Any]:
    """Whether an order may need a machine before the next turn."""
    return sa.select(sa.exists().where(s.c.is_empty).label("is_any"))


def release(fleet_id: FleetId, *, holder: str) -> sa.Update:
    return sa.update(s).where(s.c.fleet_id == fleet_id, s.c.held_by == holder).values(held_by=None, held_until=None)


def note_problem(fleet_id: FleetId, *, problem: str | None) -> sa.Update:
    return sa.update(s).where(s.c.fleet_id == fleet_id).values(problem=problem)


# ── what is known ───────────────────────────────────────────────────────────────────────────


def depths(fleet_id: FleetId, *, counted_max: int) -> sa.Select[Any]:
    """How many wait in each lane that the fleet may run, up to the bound; and how many fleets that scale may run it."""
    front, other = d.alias("front"), a.alias("other")
    some = (
        sa.select(front.c.lane)
        .where(front.c.lane == lanes.c.id, front.c.status == constant(DispatchStatus.QUEUED))
        .limit(counted_max)
        .correlate(lanes)
        .subquery("some")
    )
    return (
        sa.select(
            lanes.c.workflow_id,
            lanes.c.structure_hash,
            lanes.c.provider,
            workflows.c.expected_s,
            sa.select(sa.func.count()).select_from(some).scalar_subquery().label("queued"),
            _sharers(other, lanes.c.workflow_id).label("fleets"),
        )
        .join(a, sa.and_(a.c.workflow_id == lanes.c.workflow_id, a.c.fleet_id == fleet_id, a.c.is_active))
        .join(workflows, sa.and_(workflows.c.id == lanes.c.workflow_id, workflows.c.is_active))
    )


def _sharers(other: Any, workflow_id: sa.ColumnElement[Any]) -> sa.ScalarSelect[Any]:
    return (
        sa.select(sa.func.count())
        .select_from(other.join(s, s.c.fleet_id == other.c.fleet_id))
        .where(other.c.workflow_id == workflow_id, other.c.is_active)
        .correlate(*(each for each in (lanes, workflows) if workflow_id.table is each))
        .scalar_subquery()
    )


def arrived(fleet_id: FleetId, *, since: DispatchId, until: DispatchId) -> sa.Select[Any]:
    """Jobs of the fleet's workflows by their ids, which begin with the time they were ordered at."""
    other = a.alias("other")
    counted = (
        sa.select(d.c.workflow_id, sa.func.count().label("jobs"))
        .where(d.c.id >= since, d.c.id < until)
        .group_by(d.c.workflow_id)
        .subquery("counted")
    )
    return (
        sa.select(
            counted.c.jobs,
            workflows.c.expected_s,
            _sharers(other, workflows.c.id).label("fleets"),
        )
        .join(a, sa.and_(a.c.workflow_id == counted.c.workflow_id, a.c.fleet_id == fleet_id, a.c.is_active))
        .join(workflows, workflows.c.id == counted.c.workflow_id)
    )


def arrivals(fleet_id: FleetId, *, window_s: float) -> sa.Select[Any]:
    """As the decisions of the window counted them."""
    return (
        sa.select(e.c.decided_at, e.c.arrived_gpu_s)
        .where(e.c.fleet_id == fleet_id, e.c.decided_at > seconds_from_now(-window_s))
        .order_by(e.c.decided_at)
    )


def workers_of(fleet_id: FleetId) -> sa.Select[Any]:
    """With the leases each holds, and what it ran last."""
    leases = (
        sa.select(sa.func.count())
        .where(d.c.worker_id == w.c.id, d.c.status == constant(DispatchStatus.LEASED))
        .correlate(w)
        .scalar_subquery()
    )
    last = (
        sa.select(t.c.dispatch_id)
        .where(t.c.worker_id == w.c.id)
        .order_by(t.c.granted_at.desc())
        .limit(1)
        .correlate(w)
        .scalar_subquery()
    )
    first_granted = sa.select(sa.func.min(t.c.granted_at)).where(t.c.worker_id == w.c.id).correlate(w).scalar_subquery()
    last_granted = sa.select(sa.func.max(t.c.granted_at)).where(t.c.worker_id == w.c.id).correlate(w).scalar_subquery()
    known = sa.or_(w.c.status.in_(LIVE), w.c.last_seen_at > seconds_from_now(-WORKER_GONE_S))
    # It made no call since: the worker ended with its machine, whatever its status and its leases still say.
    ended = sa.exists().where(
        m.c.fleet_id == w.c.fleet_id, m.c.machine_id == w.c.worker_id, m.c.ended_at > w.c.last_seen_at
    )
    return (
        sa.select(
            w.c.id,
            w.c.worker_id,
            w.c.status,
            w.c.created_at,
            SecondsBetween(w.c.last_seen_at, now()).label("silent_s"),
            leases.label("leases"),
            first_granted.label("first_lease_at"),
            last_granted.label("last_lease_at"),
            lanes.c.structure_hash,
            ended.label("ended_with_machine"),
        )
        .select_from(w)
        .outerjoin(d, d.c.id == last)
        .outerjoin(lanes, lanes.c.id == d.c.lane)
        .where(w.c.fleet_id == fleet_id, known)
    )


def inventory_of(fleet_id: FleetId) -> sa.Select[Any]:
    return sa.select(fleet_inventories.c.capability_digest, fleet_inventories.c.providers).where(
        fleet_inventories.c.fleet_id == fleet_id
    )


def machines_of(fleet_id: FleetId) -> sa.Select[Any]:
    """Those that run, as far as is known."""
    return sa.select(*m.c).where(m.c.fleet_id == fleet_id, m.c.ended_at.is_(None))


def listed(fleet_id: FleetId, *, ended_s: float, rows: int) -> sa.Select[Any]:
    """With the worker of each, if one has registered. Those that run come first."""
    leases = (
        sa.select(sa.func.count())
        .where(d.c.worker_id == w.c.id, d.c.status == constant(DispatchStatus.LEASED))
        .correlate(w)
        .scalar_subquery()
    )
    of_machine = sa.and_(w.c.worker_id == m.c.machine_id, w.c.fleet_id == m.c.fleet_id)
    return (
        sa.select(*m.c, w.c.status, SecondsBetween(w.c.last_seen_at, now()).label("silent_s"), leases.label("leases"))
        .select_from(m)
        .outerjoin(w, of_machine)
        .where(m.c.fleet_id == fleet_id, sa.or_(m.c.ended_at.is_(None), m.c.ended_at > seconds_from_now(-ended_s)))
        .order_by(m.c.ended_at.is_not(None), m.c.launched_at.desc(), m.c.machine_id)
        .limit(rows)
    )


def starts_of(fleet_id: FleetId, *, rows: int) -> sa.Select[Any]:
    """How long the newest machines took to start."""
    return (
        sa.select(m.c.start_s)
        .where(m.c.fleet_id == fleet_id, m.c.start_s.is_not(None))
        .order_by(m.c.launched_at.desc())
        .limit(rows)
    )


# ── decisions ───────────────────────────────────────────────────────────────────────────────


def move_state(
    fleet_id: FleetId, *, generation: int, state: str, is_empty: bool, counted_to: datetime, decided_at: datetime
) -> sa.Update:
    """Guarded by the generation that the decision was made on."""
    return (
        sa.update(s)
        .where(s.c.fleet_id == fleet_id, s.c.generation == generation)
        .values(
            state=state,
            generation=s.c.generation + 1,
            is_empty=is_empty,
            counted_to=counted_to,
            decided_at=decided_at,
        )
    )


def change_state(fleet_id: FleetId, *, generation: int, state: str) -> sa.Update:
    """What an answer taught."""
    return (
        sa.update(s)
        .where(s.c.fleet_id == fleet_id, s.c.generation == generation)
        .values(state=state, generation=s.c.generation + 1)
    )


def insert_decision() -> sa.Insert:
    return sa.insert(e).values(_given(e))


def latest_decisions(fleet_id: FleetId, *, rows: int) -> sa.Select[Any]:
    return sa.select(*e.c).where(e.c.fleet_id == fleet_id).order_by(e.c.decided_at.desc()).limit(rows)


def newest_decisions(*, rows: int) -> sa.Select[Any]:
    """Of each fleet that scales, with how long ago it was made."""
    newest = (
        sa.select(e.c.id)
        .where(e.c.fleet_id == s.c.fleet_id)
        .order_by(e.c.decided_at.desc())
        .limit(1)
        .correlate(s)
        .scalar_subquery()
    )
    age = SecondsBetween(s.c.decided_at, now()).label("age_s")
    columns = (s.c.fleet_id, s.c.max_workers, s.c.decided_at, age, e.c.decision)
    return sa.select(*columns).join(e, e.c.id == newest).order_by(s.c.fleet_id).limit(rows)


def decisions_since(fleet_id: FleetId, *, since_s: float, rows: int) -> sa.Select[Any]:
    """Those that changed something, newest first: the steps of a curve."""
    return (
        sa.select(
            e.c.id, e.c.decided_at, e.c.reason, e.c.desired, e.c.ready, e.c.starting, e.c.draining, e.c.waiting,
            e.c.decision,
        )
        .where(e.c.fleet_id == fleet_id, e.c.decided_at > seconds_from_now(-since_s), e.c.is_change)
        .order_by(e.c.decided_at.desc())
        .limit(rows)
    )  # fmt: skip


def forget_decisions(*, quiet_s: float, age_s: float) -> sa.Delete:
    """Those that changed nothing go first."""
    quiet = sa.and_(~e.c.is_change, e.c.decided_at < seconds_from_now(-quiet_s))
    fleets = sa.select(f.c.id)
    return sa.delete(e).where(e.c.fleet_id.in_(fleets), sa.or_(quiet, e.c.decided_at < seconds_from_now(-age_s)))


def forget_launches(*, age_s: float) -> sa.Delete:
    return sa.delete(n).where(n.c.answered_at < seconds_from_now(-age_s))


def forget_machines(*, age_s: float) -> sa.Delete:
    return sa.delete(m).where(m.c.ended_at < seconds_from_now(-age_s))


# ── launches ────────────────────────────────────────────────────────────────────────────────


def insert_launch() -> sa.Insert:
    return sa.insert(n).values(
        {**_given(n), "asked_at": now(), **dict.fromkeys(["answered_at", "launched", "problem", "plan"])}
    )


def open_launches(fleet_id: FleetId) -> sa.Select[Any]:
    """Asked for, and not answered: with how long ago."""
    age = SecondsBetween(n.c.asked_at, now()).label("age_s")
    return (
        sa.select(*n.c, age)
        .where(n.c.fleet_id == fleet_id, n.c.answered_at.is_(None))
        .order_by(n.c.decision_id, n.c.ordinal)
    )


def close_launch(decision_id: UUID, ordinal: int, *, launched: int, problem: str | None) -> sa.Update:
    """Once: whoever comes second finds it answered."""
    return (
        sa.update(n)
        .where(n.c.decision_id == decision_id, n.c.ordinal == ordinal, n.c.answered_at.is_(None))
        .values(answered_at=now(), launched=launched, problem=problem)
        .returning(n.c.token)
    )


def note_plan(decision_id: UUID, ordinal: int, *, before: str | None, plan: str) -> sa.Update:
    """Guarded by the plan that was read: of two replicas that plan, one does."""
    known = n.c.plan.is_(None) if before is None else n.c.plan == before
    return (
        sa.update(n)
        .where(n.c.decision_id == decision_id, n.c.ordinal == ordinal, n.c.answered_at.is_(None), known)
        .values(plan=plan)
    )


def close_launches(fleet_id: FleetId, *, problem: str) -> sa.Update:
    """Those without an answer: nobody is left who could give one."""
    return (
        sa.update(n)
        .where(n.c.fleet_id == fleet_id, n.c.answered_at.is_(None))
        .values(answered_at=now(), launched=0, problem=problem)
    )


def last_launch_problem(fleet_id: FleetId, *, age_s: float) -> sa.Select[Any]:
    """What the newest answered launch lacked; none: it lacked nothing."""
    return (
        sa.select(n.c.problem)
        .where(n.c.fleet_id == fleet_id, n.c.answered_at > seconds_from_now(-age_s))
        .order_by(n.c.answered_at.desc(), n.c.ordinal.desc())
        .limit(1)
    )


# ── machines ────────────────────────────────────────────────────────────────────────────────


def keep_machine() -> sa.Insert:
    """Once. One that was missing from the provider's list for a while, and is listed again, runs again."""
    unknown = dict.fromkeys(["start_s", "end_asked_at", "end_reason", "ended_at"])
    insert = postgresql.insert(m).values({**_given(m), **unknown})
    return insert.on_conflict_do_update(index_elements=[m.c.fleet_id, m.c.machine_id], set_={"ended_at": None})


def note_start(fleet_id: FleetId, machine_id: str, *, start_s: float) -> sa.Update:
    return (
        sa.update(m)
        .where(m.c.fleet_id == fleet_id, m.c.machine_id == machine_id, m.c.start_s.is_(None))
        .values(start_s=start_s)
    )


def ask_end(fleet_id: FleetId, machine_id: str, *, reason: str) -> sa.Update:
    """From now on no worker registers from it."""
    return (
        sa.update(m)
        .where(m.c.fleet_id == fleet_id, m.c.machine_id == machine_id, m.c.end_asked_at.is_(None))
        .values(end_asked_at=now(), end_reason=reason)
        .returning(m.c.machine_id)
    )


def note_drain(fleet_id: FleetId, machine_id: str, *, reason: str) -> sa.Update:
    """Its worker leaves when it is empty, and its machine may end with it."""
    return (
        sa.update(m)
        .where(m.c.fleet_id == fleet_id, m.c.machine_id == machine_id, m.c.end_asked_at.is_(None))
        .values(end_reason=reason)
    )


def mark_ended(fleet_id: FleetId, machine_ids: list[str]) -> sa.Update:
    b = batch_rows("b", {"machine_id": sa.Text()}, [{"machine_id": each} for each in machine_ids])
    listed = sa.select(b.c.machine_id)
    return (
        sa.update(m)
        .where(m.c.fleet_id == fleet_id, m.c.machine_id.in_(listed), m.c.ended_at.is_(None))
        .values(ended_at=now())
        .returning(m.c.machine_id)
    )


def mark_all_ended(fleet_id: FleetId) -> sa.Update:
    return (
        sa.update(m)
        .where(m.c.fleet_id == fleet_id, m.c.ended_at.is_(None))
        .values(ended_at=now())
        .returning(m.c.machine_id)
    )


def standing_of(machine_id: str) -> sa.Select[Any]:
    """Of a machine's worker, whichever fleet it joined."""
    leases = (
        sa.select(sa.func.count())
        .where(d.c.worker_id == w.c.id, d.c.status == constant(DispatchStatus.LEASED))
        .correlate(w)
        .scalar_subquery()
    )
    return sa.select(w.c.id, w.c.status, w.c.fleet_id, leases.label("leases")).where(w.c.worker_id == machine_id)
