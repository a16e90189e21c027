"""When a workflow's failures are its own."""

import pytest

from comfyfleet.dispatch import FailureClass
from comfyfleet.dispatch.everywhere import Try, is_everywhere
from comfyfleet.kernel.ids import WorkerId, new_id

A, B, C = (WorkerId(new_id()) for _ in range(3))
BAD = FailureClass.EXECUTION_ERROR.value
CASES = {
    "three workers": ([Try(A, BAD), Try(B, BAD), Try(C, BAD)], 50, True),
    "two of many": ([Try(A, BAD), Try(B, BAD)], 50, False),
    "two of two": ([Try(A, BAD), Try(B, BAD)], 2, True),
    "the only one": ([Try(A, BAD)], 1, True),
    "the only one, gone since": ([Try(A, BAD)], 0, True),
    "the same worker thrice": ([Try(A, BAD)] * 3, 3, False),
    "another way each time": ([Try(A, BAD), Try(B, "out_of_memory"), Try(C, BAD)], 3, False),
    "it worked somewhere": ([Try(A, BAD), Try(B, BAD), Try(C, BAD), Try(A, "completed")], 3, False),
}


@pytest.mark.parametrize("name", CASES)
def test_is_everywhere(name: str) -> None:
    tries, eligible, wanted = CASES[name]
    assert is_everywhere(tries, FailureClass.EXECUTION_ERROR, eligible=eligible) is wanted
