"""The invariants that one database can answer alone. Each is true at any instant, so a live system can be asked."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from comfyfleet.checks import sql
from comfyfleet.checks.model import Finding, Offenders
from comfyfleet.checks.runs import sql as runs
from comfyfleet.db import ControlTx, PoolTx
from comfyfleet.dispatch import QueueRules


@dataclass(frozen=True, slots=True)
class Invariant:
    """`statement` finds what breaks it. `breaks` is false where a row is worth a look and no fault."""

    code: str
    says: str
    statement: Callable[[QueueRules], sa.Select[Any]]
    breaks: bool = True


def _always(statement: Callable[[], sa.Select[Any]]) -> Callable[[QueueRules], sa.Select[Any]]:
    return lambda _rules: statement()


QUEUE = (
    Invariant("V1", "an open attempt belongs to a lease of its epoch", _always(sql.open_attempts_without_lease)),
    Invariant("V1b", "a lease has its open attempt", _always(sql.leases_without_open_attempt)),
    Invariant(
        "V2",
        "no worker holds more leases than it may",
        lambda rules: sql.workers_above_their_limit(lease_ahead=rules.lease_ahead),
    ),
    Invariant("V3", "epochs have no gap and no reuse", _always(sql.epochs_with_gaps)),
    Invariant("V4", "the outcome is that of the last epoch", _always(sql.outcomes_of_another_epoch)),
    Invariant("V5", "a finished dispatch has exactly one settlement", _always(sql.finished_without_one_settlement)),
    Invariant("V5b", "a settlement says what its dispatch says", _always(sql.settlements_that_say_otherwise)),
    Invariant("V6", "nothing runs after success", _always(sql.attempts_after_success)),
    Invariant("V7", "attempts and releases stay within their bounds", _always(sql.attempts_out_of_bounds)),
    Invariant("V8", "a lease belongs to its worker's present life", _always(sql.leases_of_an_earlier_life)),
    Invariant("V10", "a probe is held only by a dispatch that runs", _always(sql.probes_that_do_not_run)),
)

CENTRAL = (
    *QUEUE,
    Invariant(
        "V9", "nothing is unfinished past its queue deadline", _always(sql.unfinished_past_deadline), breaks=False
    ),
    Invariant(
        "V9b",
        "no settlement lies unapplied for a queue deadline",
        lambda rules: sql.settlements_left_lying(older_than_s=rules.queue_deadline_s),
        breaks=False,
    ),
    Invariant("X3", "a dispatch's tenant lives in the dispatch's pool", _always(sql.dispatches_in_a_strange_pool)),
)

RUNS = (
    Invariant("R1", "a run's counts are those of its jobs", _always(runs.runs_that_do_not_add_up)),
    Invariant("R2", "a step's counts are those of its jobs and candidates", _always(runs.steps_that_do_not_add_up)),
    Invariant("R3", "a candidate's counts are those of its children", _always(runs.candidates_that_do_not_add_up)),
    Invariant("R4", "no place is filled more often than its step allows", _always(runs.places_overfilled)),
    Invariant("R5", "a run's job is in flight while its job is under way", _always(runs.jobs_that_stand_otherwise)),
    Invariant("R6", "what a run's job made is in the tree", _always(runs.pictures_out_of_place)),
    Invariant("R7", "nothing lives below a rejected candidate", _always(runs.alive_below_the_rejected)),
    Invariant("R8", "a run stays within its budget", _always(runs.runs_beyond_their_budget)),
)

POOL = (
    Invariant("V11", "a balance is the sum of its transactions", _always(sql.wallets_that_do_not_add_up)),
    Invariant("V12", "a job is reserved once, and ended once when it is over", _always(sql.jobs_not_paid_once)),
    Invariant(
        "V13", "an end gives back what was reserved, or nothing", _always(sql.ends_that_differ_from_their_reserve)
    ),
    Invariant("V14", "completed is consumed; failed or cancelled is refunded", _always(sql.jobs_with_the_wrong_end)),
    Invariant("V15", "no wallet is overdrawn", _always(sql.overdrawn_wallets)),
    Invariant("V16", "a key has made one job", _always(sql.keys_of_many_jobs)),
    Invariant("V17", "a completed job of an effect has one result", _always(sql.completed_without_one_result)),
    Invariant("V19", "an event says what became of its job", _always(sql.events_that_say_otherwise)),
    Invariant(
        "V19b",
        "no job waits in the outbox for a queue deadline",
        lambda rules: sql.submissions_left_lying(older_than_s=rules.queue_deadline_s),
        breaks=False,
    ),
    Invariant("V20", "what a job under way takes is stored, and its user's", _always(sql.inputs_that_are_not_there)),
    Invariant("V21", "a video is processed by a job under way", _always(sql.videos_nobody_works_on)),
    *RUNS,
)


async def check_invariants(
    tx: ControlTx | PoolTx, invariants: Sequence[Invariant], *, database: str, rules: QueueRules
) -> list[Finding]:
    return [await _check(tx, invariant, database, rules) for invariant in invariants]


async def _check(tx: ControlTx | PoolTx, invariant: Invariant, database: str, rules: QueueRules) -> Finding:
    rows = await tx.all(invariant.statement(rules))
    shown = [{name: value for name, value in row._mapping.items() if name != "total"} for row in rows]
    offenders = Offenders(rows[0].total if rows else 0, shown)
    return Finding.of((invariant.code, invariant.says), database, offenders, breaks=invariant.breaks)
