"""Statements over candidates and votes. Whoever changes one holds its run's row."""

from typing import Any
from uuid import UUID

import sqlalchemy as sa

from comfyfleet.db.dialect import insert_once, now
from comfyfleet.db.direct import built_once
from comfyfleet.db.scope import BOUND_TENANT
from comfyfleet.db.tables import candidates, files, pipeline_runs, run_jobs, votes
from comfyfleet.kernel.ids import CandidateId, RunId, UserId, VoteId
from comfyfleet.pipelines.elo import START
from comfyfleet.pipelines.lifecycle import CANDIDATE, CandidateEvent, CandidateStatus
from comfyfleet.pipelines.model import RunJobState
from comfyfleet.storage.lifecycle import FileStatus

c, v, j, r, f = candidates, votes, run_jobs, pipeline_runs, files

OF_RUN, AT_STEP = sa.bindparam("of_run", type_=sa.Uuid()), sa.bindparam("at_step", type_=sa.Integer())
CANDIDATE_ID = sa.bindparam("candidate_id", type_=sa.Uuid())
# As much of a candidate as the choice of a parent needs.
PARENT = [c.c.id, c.c.elo, c.c.rank, c.c.children, c.c.started, c.c.failures]


@built_once
def insert_candidate() -> sa.Insert:
    names = ("id", "run_id", "position", "parent_id", "job_id", "file_id", "image_index", "seed", "status")
    given = {name: sa.bindparam(name, type_=c.c[name].type) for name in names}
    rejected_at = sa.case((given["status"] == CandidateStatus.REJECTED, now()), else_=None)
    counts = dict.fromkeys(("votes", "children", "started", "failures"), 0)
    return sa.insert(c).values(
        tenant_id=BOUND_TENANT,
        is_passed=True,
        elo=START,
        rank=-START,
        created_at=now(),
        rejected_at=rejected_at,
        **counts,
        **given,
    )


@built_once
def by_id() -> sa.Select[Any]:
    return sa.select(*c.c).where(c.c.tenant_id == BOUND_TENANT, c.c.id == CANDIDATE_ID)


@built_once
def picture_of() -> sa.Select[Any]:
    """Its user's, and there."""
    return (
        sa.select(f.c.id)
        .join(c, c.c.file_id == f.c.id)
        .where(
            c.c.tenant_id == BOUND_TENANT,
            c.c.id == CANDIDATE_ID,
            f.c.tenant_id == BOUND_TENANT,
            f.c.user_id == sa.bindparam("of_user", type_=sa.Uuid()),
            f.c.status == FileStatus.STORED,
        )
    )


def of_user(candidate_id: CandidateId, user_id: UserId) -> sa.Select[Any]:
    return (
        sa.select(*c.c)
        .join(r, r.c.id == c.c.run_id)
        .where(
            c.c.tenant_id == BOUND_TENANT,
            c.c.id == candidate_id,
            r.c.tenant_id == BOUND_TENANT,
            r.c.user_id == user_id,
        )
    )


@built_once
def best(*, top: int) -> sa.Select[Any]:
    """Who may have children, as far as the ranks go. How many is written into the statement: a server that plans it
    once must know that they are few."""
    found = _active(OF_RUN, AT_STEP).where(c.c.is_passed).with_only_columns(*PARENT)
    few = sa.bindparam("top", top, type_=sa.Integer(), literal_execute=True)
    return found.order_by(c.c.rank, c.c.id).limit(few)


@built_once
def fertile(*, top: int, failures_max: int) -> sa.Select[Any]:
    """Of the best `top`, those who may have one more child."""
    found = best(top=top).subquery("best")
    return (
        sa.select(*found.c)
        .where(found.c.children < sa.bindparam("variants", type_=sa.Integer()), found.c.failures < failures_max)
        .order_by(found.c.rank, found.c.id)
    )


@built_once
def count_parent() -> sa.Update:
    return (
        sa.update(c)
        .where(c.c.tenant_id == BOUND_TENANT, c.c.id == CANDIDATE_ID)
        .values(
            **{
                name: c.c[name] + sa.bindparam(f"by_{name}", type_=sa.Integer())
                for name in ("children", "started", "failures")
            }
        )
    )


def pass_over(candidate_ids: list[CandidateId]) -> sa.Update:
    return sa.update(c).where(c.c.tenant_id == BOUND_TENANT, c.c.id.in_(candidate_ids)).values(is_passed=False)


def pass_again(run_id: RunId, position: int) -> sa.Update:
    return (
        sa.update(c)
        .where(c.c.tenant_id == BOUND_TENANT, c.c.run_id == run_id, c.c.position == position)
        .values(is_passed=True)
    )


def set_scores(candidate_id: CandidateId, scores: dict[str, float]) -> sa.Update:
    return sa.update(c).where(c.c.tenant_id == BOUND_TENANT, c.c.id == candidate_id).values(scores=scores)


# ── lists ───────────────────────────────────────────────────────────────────────────────────


def candidate_page(
    run_id: RunId,
    *,
    position: int | None,
    status: CandidateStatus | None,
    parent_id: CandidateId | None,
    after: UUID | None,
    rows: int,
) -> sa.Select[Any]:
    """Oldest first."""
    page = sa.select(*c.c).where(c.c.tenant_id == BOUND_TENANT, c.c.run_id == run_id)
    if position is not None:
        page = page.where(c.c.position == position)
    if status:
        page = page.where(c.c.status == status)
    if parent_id:
        page = page.where(c.c.parent_id == parent_id)
    return (page.where(c.c.id > after) if after else page).order_by(c.c.id).limit(rows + 1)


def tree_page(run_id: RunId, *, after: UUID | None, rows: int) -> sa.Select[Any]:
    """Oldest first, each with the type of its picture; none where that is gone."""
    stored = sa.select(f.c.id, f.c.mime_type).where(f.c.tenant_id == BOUND_TENANT, f.c.status == FileStatus.STORED)
    there = stored.subquery("there")
    page = (
        sa.select(*c.c, there.c.mime_type)
        .select_from(c.outerjoin(there, there.c.id == c.c.file_id))
        .where(c.c.tenant_id == BOUND_TENANT, c.c.run_id == run_id)
    )
    return (page.where(c.c.id > after) if after else page).order_by(c.c.id).limit(rows + 1)


def pictures_of(run_id: RunId, *, after: UUID | None, rows: int) -> sa.Select[Any]:
    """The files of a run's candidates, as these were made."""
    page = (
        sa.select(*f.c, c.c.id.label("candidate_id"))
        .select_from(c.join(f, f.c.id == c.c.file_id))
        .where(
            c.c.tenant_id == BOUND_TENANT,
            f.c.tenant_id == BOUND_TENANT,
            c.c.run_id == run_id,
            f.c.status == FileStatus.STORED,
        )
    )
    return (page.where(c.c.id > after) if after else page).order_by(c.c.id).limit(rows)


def under_way(run_id: RunId, *, rows: int) -> sa.Select[Any]:
    in_flight = sa.bindparam("under_way", RunJobState.IN_FLIGHT.value, type_=sa.Text(), literal_execute=True)
    return (
        sa.select(*j.c)
        .where(j.c.tenant_id == BOUND_TENANT, j.c.run_id == run_id, j.c.state == in_flight)
        .order_by(j.c.job_id)
        .limit(rows)
    )


def ranked_page(
    run_id: RunId, position: int, *, after_rank: float | None, after: UUID | None, rows: int
) -> sa.Select[Any]:
    """The best first, rejected ones left out."""
    page = _active(run_id, position)
    if after is not None and after_rank is not None:
        page = page.where(sa.or_(c.c.rank > after_rank, sa.and_(c.c.rank == after_rank, c.c.id > after)))
    return page.order_by(c.c.rank, c.c.id).limit(rows + 1)


def least_compared(run_id: RunId, position: int, *, rows: int) -> sa.Select[Any]:
    return _active(run_id, position).order_by(c.c.votes, c.c.id).limit(rows)


# ── votes ───────────────────────────────────────────────────────────────────────────────────


def insert_vote(
    vote_id: VoteId,
    run_id: RunId,
    position: int,
    *,
    seq: int,
    winner_id: CandidateId,
    loser_id: CandidateId,
    user_id: UserId,
    idempotency_key: str | None,
) -> sa.Insert:
    """Nothing comes back if the key was used before."""
    return (
        insert_once(v)
        .values(
            id=vote_id,
            tenant_id=BOUND_TENANT,
            run_id=run_id,
            position=position,
            seq=seq,
            winner_id=winner_id,
            loser_id=loser_id,
            user_id=user_id,
            idempotency_key=idempotency_key,
            created_at=now(),
        )
        .returning(*v.c)
    )


def vote_by_key(user_id: UserId, key: str) -> sa.Select[Any]:
    return sa.select(*v.c).where(v.c.tenant_id == BOUND_TENANT, v.c.user_id == user_id, v.c.idempotency_key == key)


def set_elo(candidate_id: CandidateId, elo: float) -> sa.Update:
    return (
        sa.update(c)
        .where(c.c.tenant_id == BOUND_TENANT, c.c.id == candidate_id)
        .values(elo=elo, rank=-elo, votes=c.c.votes + 1)
    )


def vote_page(run_id: RunId, position: int | None, *, after: UUID | None, rows: int) -> sa.Select[Any]:
    """Oldest first: as they are replayed."""
    page = sa.select(*v.c).where(v.c.tenant_id == BOUND_TENANT, v.c.run_id == run_id)
    if position is not None:
        page = page.where(v.c.position == position)
    return (page.where(v.c.id > after) if after else page).order_by(v.c.id).limit(rows + 1)


def newest_pairs(run_id: RunId, position: int, *, rows: int) -> sa.Select[Any]:
    return (
        sa.select(v.c.winner_id, v.c.loser_id)
        .where(v.c.tenant_id == BOUND_TENANT, v.c.run_id == run_id, v.c.position == position)
        .order_by(v.c.seq.desc())
        .limit(rows)
    )


# ── reject ──────────────────────────────────────────────────────────────────────────────────


def reject_branch(candidate_id: CandidateId) -> sa.Update:
    """It, and all that was made of it."""
    root = sa.select(c.c.id).where(c.c.tenant_id == BOUND_TENANT, c.c.id == candidate_id).cte("branch", recursive=True)
    child = c.alias("child")
    below = sa.select(child.c.id).join(root, child.c.parent_id == root.c.id).where(child.c.tenant_id == BOUND_TENANT)
    branch = root.union_all(below)
    return (
        sa.update(c)
        .where(
            c.c.tenant_id == BOUND_TENANT,
            c.c.id.in_(sa.select(branch.c.id)),
            c.c.status.in_(CANDIDATE.sources(CandidateEvent.REJECT)),
        )
        .values(status=CANDIDATE.target(CandidateEvent.REJECT), rejected_at=now())
        .returning(c.c.id, c.c.position)
    )


def jobs_below_rejected(run_id: RunId) -> sa.Select[Any]:
    """Under way for nobody."""
    in_flight = sa.bindparam("under_way", RunJobState.IN_FLIGHT.value, type_=sa.Text(), literal_execute=True)
    return (
        sa.select(j.c.job_id)
        .join(c, c.c.id == j.c.parent_id)
        .where(
            j.c.tenant_id == BOUND_TENANT,
            c.c.tenant_id == BOUND_TENANT,
            j.c.run_id == run_id,
            j.c.state == in_flight,
            c.c.status == CandidateStatus.REJECTED,
        )
    )


def _active(run_id: Any, position: Any) -> sa.Select[Any]:
    # Written into the statement: SQLite sees its partial index only behind plain words.
    active = sa.bindparam("alive", CandidateStatus.ACTIVE.value, type_=sa.Text(), literal_execute=True)
    return sa.select(*c.c).where(
        c.c.tenant_id == BOUND_TENANT, c.c.run_id == run_id, c.c.position == position, c.c.status == active
    )
