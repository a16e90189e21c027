"""Tokens, backoff, the table of failures."""

from uuid import uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st

from comfyfleet.dispatch import FailureClass, LeaseSigner
from comfyfleet.dispatch.failures import POLICIES
from comfyfleet.dispatch.tokens import epoch_of
from comfyfleet.kernel.backoff import CEILING_S, backoff_s
from comfyfleet.kernel.secret import Secret

SIGNER = LeaseSigner(Secret("key"))


def test_a_token_is_the_same_again_and_another_for_every_fact() -> None:
    facts = {"epoch": 3, "nonce": "n", "worker_id": uuid4(), "incarnation": 2}
    dispatch_id = uuid4()
    token = SIGNER.token(dispatch_id, **facts)
    assert token == SIGNER.token(dispatch_id, **facts)
    others = [
        SIGNER.token(uuid4(), **facts),
        SIGNER.token(dispatch_id, **{**facts, "epoch": 4}),
        SIGNER.token(dispatch_id, **{**facts, "nonce": "m"}),
        SIGNER.token(dispatch_id, **{**facts, "worker_id": uuid4()}),
        SIGNER.token(dispatch_id, **{**facts, "incarnation": 3}),
        LeaseSigner(Secret("another")).token(dispatch_id, **facts),
    ]
    assert len({each.reveal() for each in [token, *others]}) == 7
    assert epoch_of(token) == 3


@given(st.text(max_size=60))
def test_any_text_has_an_epoch_that_fits_the_column(text: str) -> None:
    assert 0 <= epoch_of(Secret(text)) < 2**63


@given(st.integers(min_value=-5, max_value=10_000), st.floats(min_value=0, max_value=1))
def test_a_pause_is_bounded_and_never_nothing(attempt: int, chance: float) -> None:
    assert 0 < backoff_s(attempt, chance=chance) <= CEILING_S


def test_pauses_grow() -> None:
    assert [backoff_s(attempt, chance=1.0) for attempt in (1, 2, 3, 4)] == [2, 4, 8, 16]


@pytest.mark.parametrize("failure", list(FailureClass))
def test_every_class_has_a_policy(failure: FailureClass) -> None:
    assert failure in POLICIES


def test_what_a_user_put_in_is_neither_tried_again_nor_held_against_a_worker() -> None:
    for failure in (
        FailureClass.USER_INPUT,
        FailureClass.WORKFLOW_INVALID,
        FailureClass.CANCELLED,
        FailureClass.TIMEOUT,
    ):
        assert (POLICIES[failure].retried, POLICIES[failure].blocks) == (False, "nothing")
