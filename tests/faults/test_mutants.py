"""Each guard of the queue is needed: taken away, the test named here fails. A test that passes without its guard
proves nothing."""

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
QUEUE, LEASE, FINISH = "dispatch/sql.py", "dispatch/lease/sql.py", "dispatch/finish.py"

VERBS = "tests/database/dispatch/test_queue.py::"
GUARDS = "tests/database/dispatch/test_guards.py::"
OPERATING = "tests/database/dispatch/test_operating.py::"
POLLS = "tests/database/desk/test_polls.py::"
RACES = "tests/database/desk/test_races.py::"
ORDER = "tests/database/desk/test_batches_in_order.py::"
CRASHES = "tests/faults/test_order_crashes.py::"
ORDERS = "tests/database/jobs/test_orders.py::"
LEFT = "tests/database/jobs/test_leftovers.py::"
STALE = f"{VERBS}test_a_stale_or_foreign_lease_has_no_effect[sqlite-"


@dataclass(frozen=True)
class Mutant:
    """What stands in a file, what stands there instead, and the test that must not overlook it."""

    file: str
    old: str
    new: str
    caught_by: str


MUTANTS = {
    # ── the guard of every write under a lease ──
    "epoch": Mutant(
        QUEUE,
        "        d.c.epoch == b.c.epoch,\n",
        "",
        f"{GUARDS}test_a_token_of_another_epoch_is_refused_even_if_its_hash_fits[sqlite]",
    ),
    "lease hash": Mutant(QUEUE, "        d.c.lease_hash == b.c.lease_hash,\n", "", f"{STALE}foreign token]"),
    "lease hash, after a restore": Mutant(
        QUEUE,
        "        d.c.lease_hash == b.c.lease_hash,\n",
        "",
        "tests/database/dispatch/test_restored.py::"
        "test_l6_a_token_of_a_lost_past_is_refused_though_its_epoch_is_current[sqlite-the same worker]",
    ),
    "worker": Mutant(QUEUE, "        d.c.worker_id == b.c.worker_id,\n", "", f"{STALE}other worker]"),
    "incarnation": Mutant(QUEUE, "        d.c.incarnation == b.c.incarnation,\n", "", f"{STALE}earlier life]"),
    "leased": Mutant(
        QUEUE,
        "        d.c.status == DispatchStatus.LEASED,\n    )\n\n\n# ── ending",
        "    )\n\n\n# ── ending",
        f"{GUARDS}test_only_a_leased_row_can_be_ended_under_a_lease[sqlite]",
    ),
    # ── leasing ──
    "claim only what waits": Mutant(
        LEASE,
        "d.c.status.in_(DISPATCH.sources(DispatchEvent.LEASE))",
        "sa.true()",
        f"{GUARDS}test_a_row_that_was_cancelled_since_it_was_seen_is_not_claimed[sqlite]",
    ),
    "claim at the epoch that was seen": Mutant(
        LEASE,
        "d.c.epoch == ",
        "d.c.epoch >= ",
        f"{GUARDS}test_a_row_that_was_leased_and_returned_since_it_was_seen_is_not_claimed[sqlite]",
    ),
    "one open attempt": Mutant(
        "db/migrations/central/versions/0002_expand_dispatch.py",
        '        ["dispatch_id"],\n        unique=True,\n        sqlite_where=sa.text("ended_at IS NULL"),',
        '        ["dispatch_id"],\n        unique=False,\n        sqlite_where=sa.text("ended_at IS NULL"),',
        f"{GUARDS}test_a_second_open_attempt_is_refused_by_the_index[sqlite]",
    ),
    "the worker's turn": Mutant(
        "fleet/presence.py",
        "    await take_turns(tx, worker_ids)\n    ids = ",
        "    ids = ",
        f"{RACES}test_l4_one_workers_polls_at_two_replicas_never_pass_its_limit[postgresql]",
    ),
    "one poll, one lease": Mutant(
        "dispatch/lease/__init__.py",
        "    asks, echoes = _once(polls)\n",
        "    asks, echoes = list(polls), dict[Ask, Ask]()\n",
        f"{POLLS}test_one_poll_sent_twice_at_once_is_one_lease[sqlite]",
    ),
    "one probe": Mutant(
        "dispatch/blocks/sql.py",
        "            sa.or_(k.c.probe_dispatch_id.is_(None), k.c.probe_until <= now()),\n",
        "",
        f"{GUARDS}test_of_two_probes_the_second_is_refused[sqlite]",
    ),
    # ── ending ──
    "settlement with the outcome": Mutant(
        FINISH,
        "    if terminal:\n",
        "    if False:\n",
        f"{VERBS}test_a_completed_lease_is_settled_once_and_a_repeated_call_gets_the_first_answer[sqlite]",
    ),
    "attempt closed": Mutant(
        FINISH,
        "    await tx.run(sql.end_attempts(), rows=batch(attempts))\n",
        "",
        f"{VERBS}test_a_completed_lease_is_settled_once_and_a_repeated_call_gets_the_first_answer[sqlite]",
    ),
    "attempt closed when a lease is taken back": Mutant(
        "dispatch/return_leases.py",
        "    await tx.run(sql.end_attempts(), rows=batch([unreported(row, reason) for row in rows]))\n",
        "",
        f"{OPERATING}test_leases_return_to_the_queue_at_once_and_their_tokens_are_dead[sqlite]",
    ),
    "cancel only what waits": Mutant(
        QUEUE,
        "        .where(d.c.status.in_(waiting))\n",
        "",
        f"{VERBS}test_cancelling_what_waits_is_at_once_and_what_runs_is_told[sqlite]",
    ),
    "proof of a lease": Mutant(
        "dispatch/rebind.py",
        "    return any(proof.token.matches(_token(row, life, signer).digest()) for life in lives)\n",
        "    return any(lives)\n",
        f"{GUARDS}test_a_restarted_worker_goes_on_with_nothing_that_it_does_not_prove[sqlite]",
    ),
    # ── orders ──
    "nobody pays for nothing": Mutant(
        QUEUE,
        ".where(*_held(b), *delivered)\n",
        ".where(*_held(b))\n",
        f"{CRASHES}test_nobody_pays_for_nothing[sqlite]",
    ),
    "one order at a time": Mutant(
        "jobs/place.py",
        "    await ledger.hold_wallet(tx, wish.user_id)\n",
        "",
        f"{ORDERS}test_five_at_once_and_no_sixth_however_many_ask[postgresql]",
    ),
    "the key of an order": Mutant(
        "jobs/place.py",
        "    if before is not None:\n        return Placed(before, replayed=True)\n",
        "",
        f"{CRASHES}test_c3_a_commit_whose_outcome_was_never_told_is_found_by_its_key[sqlite]",
    ),
    "leftovers but for what is named": Mutant(
        "jobs/collect.py",
        "            if key in left.kept:\n",
        "            if not left:\n",
        f"{LEFT}test_u7_only_what_is_old_and_over_and_unnamed_is_erased[sqlite]",
    ),
    "leftovers when they are old": Mutant(
        "jobs/sql.py",
        ".where(*due, j.c.completed_at < seconds_from_now(-age_s))\n",
        ".where(*due)\n",
        f"{LEFT}test_u1_a_zombies_bytes_never_become_or_replace_a_result[sqlite]",
    ),
    # ── time ──
    "sweep only what expired": Mutant(
        QUEUE,
        "sa.or_(d.c.lease_expires_at < now(), d.c.deadline_at < now()),",
        "sa.true(),",
        f"{VERBS}test_an_unconfirmed_lease_lives_shorter_than_a_confirmed_one[sqlite]",
    ),
    "attempt given back on expiry": Mutant(
        QUEUE,
        "            status=DISPATCH.target(DispatchEvent.DELAY),\n",
        "            status=DISPATCH.target(DispatchEvent.DELAY),\n            releases=d.c.releases + 1,\n",
        f"{VERBS}test_attempts_used_up_without_a_word_end_in_failure_and_settlement[sqlite]",
    ),
    # ── many at once ──
    "two claimants apart": Mutant(
        "desk/desk.py",
        "    left = list(items)\n    if len(",
        "    left = list(items)\n    if len(left) >= 0 or len(",
        f"{POLLS}test_two_who_claim_one_dispatch_in_one_batch_get_two_answers[sqlite]",
    ),
    "rows in one order": Mutant(
        "db/dialect.py",
        'return batch(sorted(rows, key=lambda row: row["id"].int))',
        "return batch(rows)",
        f"{ORDER}test_heartbeats_and_completions[postgresql]",
    ),
    "no other try of what nobody wants": Mutant(
        QUEUE,
        """        .where(*_held(b), d.c.cancel_requested_at.is_(None))
        .values(
            status=DISPATCH.target(DispatchEvent.DELAY),""",
        """        .where(*_held(b))
        .values(
            status=DISPATCH.target(DispatchEvent.DELAY),""",
        f"{VERBS}test_a_wish_to_cancel_outlives_the_worker_that_was_to_be_told[sqlite-failed]",
    ),
    "a call between look and wait is heard": Mutant(
        "desk/waiting.py",
        "        return wake if at > since else None\n",
        "        return None\n",
        "tests/unit/desk/test_waiting.py::test_a_call_that_came_between_the_look_and_the_wait_is_heard",
    ),
    "floors fall when something comes back": Mutant(
        "dispatch/floors.py",
        '        """Somebody came back to an old place."""\n',
        '        """Somebody came back to an old place."""\n        return\n',
        f"{POLLS}test_what_comes_back_is_found_behind_the_floor[sqlite]",
    ),
    "floors fall with time": Mutant(
        "dispatch/floors.py",
        "        self._floors.clear()\n",
        "        pass\n",
        f"{POLLS}test_what_another_replica_brings_back_is_found_within_a_second[sqlite]",
    ),
    "a wake in vain is passed on": Mutant(
        "dispatch/lease/__init__.py",
        "    return Leased(granted, waiting | unseen)\n",
        "    return Leased(granted, waiting)\n",
        f"{POLLS}test_a_full_worker_that_was_woken_passes_the_job_on[sqlite]",
    ),
}


# Those that the design names; all of them in `make soak`. That every mutant still fits the code is seen each time.
NAMED = ("epoch", "lease hash", "leased", "sweep only what expired", "one open attempt")
SOAK = os.environ.get("HYPOTHESIS_PROFILE") == "soak"


@pytest.mark.parametrize("name", MUTANTS)
def test_every_mutant_fits_the_code(name: str) -> None:
    mutant = MUTANTS[name]
    assert mutant.old in (ROOT / "src" / "comfyfleet" / mutant.file).read_text()


@pytest.mark.timeout(120)
@pytest.mark.parametrize("name", MUTANTS if SOAK else NAMED)
def test_without_this_guard_its_test_fails(name: str, tmp_path: Path) -> None:
    mutant = MUTANTS[name]
    shutil.copytree(ROOT / "src", tmp_path / "src", ignore=shutil.ignore_patterns("__pycache__"))
    mutated = tmp_path / "src" / "comfyfleet" / mutant.file
    text = mutated.read_text()
    assert mutant.old in text, "the mutant no longer fits the code"
    mutated.write_text(text.replace(mutant.old, mutant.new))
    done = _run(mutant.caught_by, tmp_path)
    assert done.returncode == 1, f"survived:\n{done.stdout[-2000:]}{done.stderr[-2000:]}"
    assert "1 failed" in done.stdout, done.stdout[-2000:]


def _run(test: str, folder: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:randomly", "-p", "no:cacheprovider", test]
    environment = {**os.environ, "PYTHONPATH": f"{folder / 'src'}{os.pathsep}{ROOT}"}
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
