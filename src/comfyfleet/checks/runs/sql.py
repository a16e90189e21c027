"""The invariants of runs as statements: each must find no row."""

from typing import Any

import sqlalchemy as sa

from comfyfleet.checks.model import SHOWN_MAX
from comfyfleet.db.tables import ai_jobs, candidates, pipeline_run_steps, pipeline_runs, run_jobs, votes
from comfyfleet.jobs import JOB, JobStatus
from comfyfleet.pipelines import CandidateStatus, RunJobState

r, s, c, q, v, j = pipeline_runs, pipeline_run_steps, candidates, run_jobs, votes, ai_jobs

REFUNDED = [JobStatus.FAILED, JobStatus.CANCELLED]
FILLS = [RunJobState.IN_FLIGHT, RunJobState.DONE]


def _first(broken: sa.Select[Any]) -> sa.Select[Any]:
    """The first few of them, each with the number of all."""
    found = broken.subquery("found")
    return sa.select(*found.c, sa.func.count().over().label("total")).limit(SHOWN_MAX)


def _count(table: sa.Table, *conditions: Any) -> sa.ScalarSelect[Any]:
    return sa.select(sa.func.count()).select_from(table).where(*conditions).scalar_subquery()


def _spent() -> sa.ScalarSelect[Any]:
    paid = sa.and_(j.c.tenant_id == q.c.tenant_id, j.c.id == q.c.job_id, j.c.status.not_in(REFUNDED))
    total = sa.cast(sa.func.coalesce(sa.func.sum(q.c.tokens), 0), sa.BigInteger())
    return sa.select(total).select_from(q.join(j, paid)).where(*_of_run(q)).scalar_subquery()


def _of_run(table: sa.Table) -> tuple[Any, ...]:
    return table.c.tenant_id == r.c.tenant_id, table.c.run_id == r.c.id


def runs_that_do_not_add_up() -> sa.Select[Any]:
    in_flight = _count(q, *_of_run(q), q.c.state == RunJobState.IN_FLIGHT)
    started, spent = _count(q, *_of_run(q)), _spent()
    return _first(
        sa.select(
            r.c.tenant_id, r.c.id, in_flight.label("in_flight"), started.label("started"), spent.label("spent")
        ).where(sa.or_(r.c.in_flight != in_flight, r.c.jobs_started != started, r.c.tokens_spent != spent))
    )


def steps_that_do_not_add_up() -> sa.Select[Any]:
    def own(table: sa.Table) -> tuple[Any, ...]:
        return table.c.tenant_id == s.c.tenant_id, table.c.run_id == s.c.run_id, table.c.position == s.c.position

    counts = {
        "made": _count(c, *own(c)),
        "alive": _count(c, *own(c), c.c.status == CandidateStatus.ACTIVE),
        "in_flight": _count(q, *own(q), q.c.state == RunJobState.IN_FLIGHT),
        "started": _count(q, *own(q)),
        "failures": _count(q, *own(q), q.c.state == RunJobState.FAILED),
        "votes": _count(v, *own(v)),
    }
    wrong = sa.or_(*(s.c[name] != counted for name, counted in counts.items()))
    counted = [each.label(f"counted_{name}") for name, each in counts.items()]
    return _first(sa.select(s.c.tenant_id, s.c.run_id, s.c.position, *counted).where(wrong))


def candidates_that_do_not_add_up() -> sa.Select[Any]:
    child = c.alias("child")
    own = q.c.tenant_id == c.c.tenant_id, q.c.parent_id == c.c.id, q.c.run_id == c.c.run_id
    made = (
        sa.select(sa.func.count())
        .select_from(child)
        .where(child.c.tenant_id == c.c.tenant_id, child.c.parent_id == c.c.id)
        .scalar_subquery()
    )
    children = made + _count(q, *own, q.c.state == RunJobState.IN_FLIGHT)
    started, failures = _count(q, *own), _count(q, *own, q.c.state == RunJobState.FAILED)
    compared = _count(
        v,
        v.c.tenant_id == c.c.tenant_id,
        v.c.run_id == c.c.run_id,
        sa.or_(v.c.winner_id == c.c.id, v.c.loser_id == c.c.id),
    )
    wrong = sa.or_(c.c.children != children, c.c.started != started, c.c.failures != failures, c.c.votes != compared)
    return _first(sa.select(c.c.tenant_id, c.c.run_id, c.c.id, children.label("counted_children")).where(wrong))


def places_overfilled() -> sa.Select[Any]:
    """A job may make several pictures; how many jobs fill a place is what the step limits."""
    step = sa.and_(s.c.tenant_id == q.c.tenant_id, s.c.run_id == q.c.run_id, s.c.position == q.c.position)
    count = sa.func.count()
    return _first(
        sa.select(q.c.tenant_id, q.c.run_id, q.c.position, q.c.place, count.label("jobs"), s.c.variants)
        .join(s, step)
        .where(q.c.state.in_(FILLS))
        .group_by(q.c.tenant_id, q.c.run_id, q.c.position, q.c.place, s.c.variants)
        .having(count > s.c.variants)
    )


def jobs_that_stand_otherwise() -> sa.Select[Any]:
    """In flight as long as its job is under way, and no longer. A job that made no picture failed its run."""
    own = sa.and_(j.c.tenant_id == q.c.tenant_id, j.c.id == q.c.job_id)
    over = j.c.status.in_(sorted(JOB.terminal))
    flying = q.c.state == RunJobState.IN_FLIGHT
    done = q.c.state == RunJobState.DONE
    return _first(
        sa.select(q.c.tenant_id, q.c.run_id, q.c.job_id, q.c.state, j.c.status)
        .select_from(q.outerjoin(j, own))
        .where(
            sa.or_(
                j.c.id.is_(None),
                j.c.run_id.is_distinct_from(q.c.run_id),
                sa.and_(flying, over),
                sa.and_(~flying, ~over),
                sa.and_(done, j.c.status != JobStatus.COMPLETED),
            )
        )
    )


def pictures_out_of_place() -> sa.Select[Any]:
    """Done, and nothing in the tree."""
    own = sa.select(c.c.id).where(
        c.c.tenant_id == q.c.tenant_id,
        c.c.job_id == q.c.job_id,
        c.c.run_id == q.c.run_id,
        c.c.position == q.c.position,
        c.c.parent_id.is_not_distinct_from(q.c.parent_id),
    )
    return _first(sa.select(q.c.tenant_id, q.c.run_id, q.c.job_id).where(q.c.state == RunJobState.DONE, ~own.exists()))


def alive_below_the_rejected() -> sa.Select[Any]:
    parent = c.alias("parent")
    above = sa.and_(parent.c.tenant_id == c.c.tenant_id, parent.c.id == c.c.parent_id)
    return _first(
        sa.select(c.c.tenant_id, c.c.run_id, c.c.id, c.c.parent_id)
        .join(parent, above)
        .where(c.c.status == CandidateStatus.ACTIVE, parent.c.status == CandidateStatus.REJECTED)
    )


def runs_beyond_their_budget() -> sa.Select[Any]:
    started, spent = _count(q, *_of_run(q)), _spent()
    return _first(
        sa.select(r.c.tenant_id, r.c.id, started.label("started"), spent.label("spent")).where(
            sa.or_(started > r.c.jobs_max, spent > r.c.tokens_max)
        )
    )
