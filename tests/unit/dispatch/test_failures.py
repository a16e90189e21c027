"""T8: what each class of failure means, written out once more by hand."""

from typing import get_args

import pytest

from comfyfleet.dispatch.failures import POLICIES, FailureClass
from comfyfleet.wire import worker_v1

# class: tried again, what it keeps the worker away from
MEANT = {
    "user_input": (False, "nothing"),
    "workflow_invalid": (False, "nothing"),
    "execution_error": (True, "hash"),
    "out_of_memory": (True, "hash"),
    "server_fault": (True, "server"),
    "infra": (True, "nothing"),
    "interrupted": (True, "nothing"),
    "timeout": (False, "nothing"),
    "cancelled": (False, "nothing"),
}


def test_t8_the_list_is_closed() -> None:
    assert {failure.value for failure in FailureClass} == MEANT.keys() == {key.value for key in POLICIES}


@pytest.mark.parametrize("name", MEANT)
def test_t8_every_class_means_what_the_table_says(name: str) -> None:
    policy = POLICIES[FailureClass(name)]
    assert (policy.retried, policy.blocks) == MEANT[name]


def test_t8_a_worker_can_say_these_and_no_others() -> None:
    assert set(get_args(worker_v1.FailureClass)) == MEANT.keys()
