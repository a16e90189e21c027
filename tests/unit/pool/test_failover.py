"""SmartFailover against a model that keeps every failure and works everything out anew each time."""

from dataclasses import dataclass, field

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from comfyfleet.comfy.model import FailureClass
from comfyfleet.pool.failover import COUNTED_MAX, EVERY_WORKFLOW, Blocked, SmartFailover, Unblocked
from comfyfleet.pool.failures import POLICIES

SERVERS = ["a", "b"]
HASHES = ["h1", "h2", "h3"]
COOLDOWN_S = 60.0

PAIR = [failure for failure, policy in POLICIES.items() if policy.blocks == "pair"]
HARMLESS = [failure for failure, policy in POLICIES.items() if policy.blocks == "nothing"]


@dataclass
class Pair:
    """All that happened to a pair since its entry was last deleted."""

    failed_at: list[float] = field(default_factory=list)

    def blocked_until(self, threshold: int) -> float | None:
        return self.failed_at[-1] + COOLDOWN_S if len(self.failed_at) >= threshold else None


class FailoverMachine(RuleBasedStateMachine):
    threshold = 1

    def __init__(self) -> None:
        super().__init__()
        self.now = 1_000_000.0
        self.strategy = SmartFailover(cooldown_s=COOLDOWN_S, max_failures_before_block=self.threshold)
        self.pairs: dict[tuple[str, str], Pair] = {}
        self.told_blocked: set[tuple[str, str]] = set()

    def until(self, server: str, key: str) -> float | None:
        pair = self.pairs.get((server, key))
        return None if pair is None else pair.blocked_until(1 if key == EVERY_WORKFLOW else self.threshold)

    def drop_expired(self) -> None:
        for (server, key), _ in list(self.pairs.items()):
            until = self.until(server, key)
            if until is not None and until <= self.now:
                del self.pairs[server, key]

    def hear(self, changes: tuple[object, ...]) -> None:
        for change in changes:
            match change:
                case Blocked(server=server, structure_hash=key, failure_count=count, until=until):
                    assert count == len(self.pairs[server, key].failed_at)
                    assert until == self.now + COOLDOWN_S
                    self.told_blocked.add((server, key))
                case Unblocked(server=server, structure_hash=key):
                    assert (server, key) in self.told_blocked, "unblocked what had not been blocked"
                    self.told_blocked.remove((server, key))

    @rule(server=st.sampled_from(SERVERS), key=st.sampled_from(HASHES), failure=st.sampled_from(PAIR))
    def fail(self, server: str, key: str, failure: FailureClass) -> None:
        self.drop_expired()
        self.pairs.setdefault((server, key), Pair()).failed_at.append(self.now)
        self.hear(self.strategy.record_failure(server, key, failure, now=self.now))

    @rule(server=st.sampled_from(SERVERS), key=st.sampled_from(HASHES))
    def break_server(self, server: str, key: str) -> None:
        self.drop_expired()
        self.pairs.setdefault((server, EVERY_WORKFLOW), Pair()).failed_at.append(self.now)
        self.hear(self.strategy.record_failure(server, key, FailureClass.SERVER_FAULT, now=self.now))

    @rule(server=st.sampled_from(SERVERS), key=st.sampled_from(HASHES), failure=st.sampled_from(HARMLESS))
    def fail_harmlessly(self, server: str, key: str, failure: FailureClass) -> None:
        assert self.strategy.record_failure(server, key, failure, now=self.now) == ()

    @rule(server=st.sampled_from(SERVERS), key=st.sampled_from(HASHES))
    def succeed(self, server: str, key: str) -> None:
        self.drop_expired()
        self.pairs.pop((server, key), None)
        self.hear(self.strategy.record_success(server, key, now=self.now))

    @rule(seconds=st.sampled_from([0.0, 1.0, 29.5, 59.0, 60.0, 61.0]))
    def wait(self, seconds: float) -> None:
        self.now += seconds

    @rule()
    def expire(self) -> None:
        self.drop_expired()
        self.hear(self.strategy.expire(now=self.now))
        assert self.told_blocked == {key for key in self.pairs if self.until(*key) is not None}

    @rule(server=st.sampled_from(SERVERS))
    def forget(self, server: str) -> None:
        for key in [key for key in self.pairs if key[0] == server]:
            del self.pairs[key]
        self.hear(self.strategy.forget_server(server))
        assert not any(name == server for name, _ in self.told_blocked)

    @rule()
    def restart(self) -> None:
        """What was blocked stays blocked; what ended while nobody ran is not told of."""
        kept = self.strategy.dump()
        self.drop_expired()
        self.strategy = SmartFailover(cooldown_s=COOLDOWN_S, max_failures_before_block=self.threshold)
        self.strategy.restore(kept, now=self.now)
        self.told_blocked = {key for key in self.pairs if self.until(*key) is not None}

    @invariant()
    def skips_what_the_model_says(self) -> None:
        for server in SERVERS:
            whole = self.until(server, EVERY_WORKFLOW)
            for key in HASHES:
                own = self.until(server, key)
                blocked = any(until is not None and until > self.now for until in (own, whole))
                assert self.strategy.skips(server, key, now=self.now) == blocked

    @invariant()
    def wakes_at_the_first_expiry(self) -> None:
        due = self.strategy.next_expiry()
        still = [until for key in self.pairs if (until := self.until(*key)) is not None and until > self.now]
        if due is None:
            assert still == []
        else:
            assert due <= min(still, default=due)


class PatientFailoverMachine(FailoverMachine):
    threshold = 3


TestFailover = FailoverMachine.TestCase
TestFailover.settings = settings(stateful_step_count=25)
TestPatientFailover = PatientFailoverMachine.TestCase
TestPatientFailover.settings = settings(stateful_step_count=25)


def test_the_timeline_of_the_seed() -> None:
    strategy = SmartFailover()
    assert strategy.record_failure("client-1", "abc", FailureClass.EXECUTION_ERROR, now=0.0) == (
        Blocked("client-1", "abc", 60.0, 1, FailureClass.EXECUTION_ERROR),
    )
    assert strategy.skips("client-1", "abc", now=5.0)
    assert not strategy.skips("client-2", "abc", now=5.0)
    assert not strategy.skips("client-1", "def", now=5.0)
    assert strategy.skips("client-1", "abc", now=59.999)
    assert not strategy.skips("client-1", "abc", now=60.0)
    assert strategy.expire(now=60.0) == (Unblocked("client-1", "abc", "expired"),)
    assert strategy.dump() == {}


def test_a_block_read_after_the_clock_was_put_back_lasts_no_longer_than_the_cooldown() -> None:
    strategy = SmartFailover(cooldown_s=60)
    strategy.restore({"a": {"h": {"failure_count": 1, "blocked_until": 9_000.0}}}, now=0.0)
    assert strategy.next_expiry() == 60.0


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats(allow_nan=True) | st.text(max_size=5),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=20), inner, max_size=3),
        max_leaves=10,
    ).map(lambda value: {"a": value, "b": {"h": value, "i": {"failure_count": value, "blocked_until": value}}})
)
def test_nonsense_that_was_kept_is_left_out(kept: dict[str, object]) -> None:
    strategy = SmartFailover()
    strategy.restore(kept, now=100.0)
    for states in strategy.dump().values():
        for state in states.values():
            assert state["failure_count"] >= 1
            assert state["blocked_until"] is None or 100.0 < state["blocked_until"] <= 160.0


def test_counted_pairs_are_bounded() -> None:
    strategy = SmartFailover(max_failures_before_block=2)
    for number in range(COUNTED_MAX + 5):
        strategy.record_failure("a", f"h{number}", FailureClass.EXECUTION_ERROR, now=0.0)
    kept = strategy.dump()["a"]
    assert len(kept) == COUNTED_MAX
    assert "h0" not in kept


@pytest.mark.parametrize("options", [{"cooldown_s": 0.0}, {"max_failures_before_block": 0}])
def test_settings_that_make_no_sense_are_refused(options: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="must be"):
        SmartFailover(**options)  # type: ignore[arg-type]
