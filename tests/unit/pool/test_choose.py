from collections.abc import Iterable
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from comfyfleet.pool.choose import Candidate, choose, is_free
from comfyfleet.pool.model import QueuedJob, ServerState

NOW = 100.0
JOB = QueuedJob("j", {}, "shape", "content")


def a(name: str, **facts: object) -> Candidate:
    return replace(Candidate(name, ServerState.ONLINE, load=0, depth=2), **facts)  # type: ignore[arg-type]


def chosen(
    job: QueuedJob, *candidates: Candidate, ran_last_on: str | None = None, skipped: Iterable[str] = ()
) -> str | None:
    return choose(job, candidates, ran_last_on=ran_last_on, skips=lambda server, _: server in set(skipped), now=NOW)


@pytest.mark.parametrize(
    "candidate",
    [
        a("s", state=ServerState.OFFLINE),
        a("s", state=ServerState.CONNECTING),
        a("s", state=ServerState.RECOVERING),
        a("s", state=ServerState.LEAVING),
        a("s", load=2),
        a("s", ready_at=NOW + 0.1),
    ],
    ids=["offline", "connecting", "recovering", "leaving", "busy", "in its grace"],
)
def test_a_server_that_is_not_free_gets_nothing(candidate: Candidate) -> None:
    assert not is_free(candidate, now=NOW)
    assert chosen(JOB, candidate) is None
    assert chosen(JOB, candidate, a("other", load=1)) == "other"


def test_the_grace_ends_at_its_last_moment() -> None:
    assert chosen(JOB, a("s", ready_at=NOW)) == "s"


def test_the_least_loaded_goes_first_even_when_another_is_warm() -> None:
    assert chosen(JOB, a("warm", load=1, last_hash="shape"), a("empty")) == "empty"


def test_the_server_that_ran_this_structure_last_is_preferred() -> None:
    assert chosen(JOB, a("x"), a("y", last_chosen=9), ran_last_on="y") == "y"


def test_a_server_that_still_has_it_loaded_beats_the_last_one_to_run_it() -> None:
    assert chosen(JOB, a("x", last_hash="other"), a("y", last_hash="shape"), ran_last_on="x") == "y"


def test_the_longest_unused_goes_first_among_equals() -> None:
    assert chosen(JOB, a("x", last_chosen=5), a("y", last_chosen=3), a("z", last_chosen=4)) == "y"


def test_a_blocked_pair_is_passed_over() -> None:
    assert chosen(JOB, a("x"), a("y", load=1), skipped=["x"]) == "y"
    assert chosen(JOB, a("x"), skipped=["x"]) is None


def test_a_failed_job_waits_for_a_server_it_has_not_failed_on() -> None:
    job = replace(JOB, failed_on=frozenset({"x"}))
    assert chosen(job, a("x"), a("y", load=2)) is None
    assert chosen(job, a("x"), a("y", load=1)) == "y"


def test_a_failed_job_goes_back_when_there_is_nowhere_else() -> None:
    job = replace(JOB, failed_on=frozenset({"x"}))
    assert chosen(job, a("x"), a("y", state=ServerState.OFFLINE)) == "x"
    assert chosen(job, a("x"), a("y"), skipped=["y"]) == "x"


def test_a_job_that_ran_out_of_memory_takes_the_larger_card() -> None:
    job = replace(JOB, wants_memory=True)
    small, large = a("small", vram_total_bytes=8), a("large", vram_total_bytes=24, load=1)
    assert chosen(job, small, large) == "large"
    assert chosen(JOB, small, large) == "small"


def test_a_job_for_named_servers_runs_there_only() -> None:
    job = replace(JOB, servers=frozenset({"y"}))
    assert chosen(job, a("x"), a("y", load=1)) == "y"
    assert chosen(job, a("x"), a("y", load=2)) is None


candidates = st.lists(
    st.builds(
        Candidate,
        name=st.sampled_from("abcdef"),
        state=st.sampled_from(ServerState),
        load=st.integers(0, 3),
        depth=st.integers(1, 3),
        ready_at=st.sampled_from([0.0, NOW, NOW + 1]),
        last_hash=st.sampled_from([None, "shape", "other"]),
        last_chosen=st.integers(0, 5),
    ),
    unique_by=lambda each: each.name,
)


@given(candidates, st.frozensets(st.sampled_from("abcdef")), st.frozensets(st.sampled_from("abcdef")))
def test_whatever_is_chosen_may_be_chosen_and_nothing_free_is_left_waiting(
    many: list[Candidate], skipped: frozenset[str], failed_on: frozenset[str]
) -> None:
    job = replace(JOB, failed_on=failed_on)
    name = chosen(job, *many, skipped=skipped)
    could = [each for each in many if is_free(each, now=NOW) and each.name not in skipped]
    fresh = [each for each in could if each.name not in failed_on]
    if name is None:
        assert fresh == []
    else:
        one = next(each for each in many if each.name == name)
        assert one in could
        assert one.load == min(each.load for each in (fresh or could))
