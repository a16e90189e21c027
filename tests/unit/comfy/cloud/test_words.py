"""What Comfy Cloud's words, errors and headers mean."""

import json
from datetime import UTC, datetime

import pytest

from comfyfleet.comfy.cloud.retry_after import retry_after_s
from comfyfleet.comfy.cloud.status import JobError, JobState, better_of, failed_by, job_error, state_of
from comfyfleet.comfy.cloud.watch import Polling
from comfyfleet.comfy.model import FailureClass

NOW = datetime(2026, 11, 16, 12, 0, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("word", "state"),
    [
        ("completed", JobState.COMPLETED),
        ("success", JobState.COMPLETED),
        ("error", JobState.FAILED),
        ("failed", JobState.FAILED),
        ("non_retryable_error", JobState.FAILED),
        ("lost", JobState.LOST),
        ("cancelled", JobState.CANCELLED),
        (" Completed ", JobState.COMPLETED),
        ("waiting_to_dispatch", JobState.WAITING),
        ("pending", JobState.WAITING),
        ("allocated", JobState.WAITING),
        ("in_progress", JobState.RUNNING),
        ("executing", JobState.RUNNING),
        ("retryable_error", JobState.RUNNING),
        ("defrosting", JobState.RUNNING),
        ("", JobState.RUNNING),
    ],
)
def test_five_words_end_a_job_and_every_other_means_that_it_goes_on(word: str, state: JobState) -> None:
    assert state_of(word) is state


@pytest.mark.parametrize(
    ("exception_type", "message", "failure"),
    [
        ("OOMError", "too big", FailureClass.OUT_OF_MEMORY),
        ("torch.cuda.OutOfMemoryError", "", FailureClass.OUT_OF_MEMORY),
        ("RuntimeError", "CUDA out of memory. Tried to allocate", FailureClass.OUT_OF_MEMORY),
        ("ValidationError", "value not in list", FailureClass.WORKFLOW_INVALID),
        ("ImageDownloadError", "HTTP 404 Not Found", FailureClass.USER_INPUT),
        ("ImageDownloadError", "cannot identify image file", FailureClass.USER_INPUT),
        ("ImageDownloadError", "connection reset by peer", FailureClass.INFRA),
        ("ModelDownloadError", "model not found", FailureClass.WORKFLOW_INVALID),
        ("ModelDownloadError", "timed out", FailureClass.INFRA),
        ("InsufficientFundsError", "balance 0", FailureClass.SERVER_FAULT),
        ("InactiveSubscriptionError", "", FailureClass.SERVER_FAULT),
        ("KeyError", "'samples'", FailureClass.EXECUTION_ERROR),
        (None, "", FailureClass.EXECUTION_ERROR),
    ],
)
def test_an_exception_is_one_of_our_failure_classes(
    exception_type: str | None, message: str, failure: FailureClass
) -> None:
    failed = failed_by(JobError(exception_type=exception_type, message=message))
    assert failed.failure is failure
    assert failed.message


def test_an_empty_account_says_what_to_do() -> None:
    failed = failed_by(JobError(exception_type="InsufficientFundsError", message="balance 0"))
    assert "Add credits" in failed.message
    assert "balance 0" in failed.message


def test_an_error_message_that_is_json_is_read_as_the_error_it_holds() -> None:
    told = {
        "exception_type": "OOMError",
        "exception_message": "no room\n",
        "node_id": 7,
        "node_type": "KSampler",
        "traceback": ["line 1\n", "line 2\n"],
    }
    error = job_error(json.dumps(told))
    assert error == JobError("OOMError", "no room", "7", "KSampler", "line 1\nline 2\n")


@pytest.mark.parametrize("told", [None, 7, [], "", "{", '{"a": 1', "[1]", {"exception_type": 3}, "{}" * 9])
def test_no_shape_of_an_error_breaks_the_reading(told: object) -> None:
    assert isinstance(failed_by(job_error(told)).message, str)


def test_the_error_that_names_its_exception_is_preferred() -> None:
    named, words = JobError("OOMError", ""), JobError(None, "it broke")
    assert better_of(words, named) is named
    assert better_of(named, words) is named or better_of(named, words) is words
    assert better_of(JobError(), words) is words


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        (None, None),
        ("7", 7.0),
        (" 0 ", 0.0),
        ("Mon, 16 Nov 2026 12:01:30 GMT", 90.0),
        ("Mon, 16 Nov 2026 11:00:00 GMT", 0.0),
        ("soon", None),
        ("-3", None),
        ("1.5", None),
        ("٣", None),
        ("9" * 400, 999_999_999_999.0),
    ],
)
def test_retry_after_is_seconds_or_a_date(header: str | None, seconds: float | None) -> None:
    assert retry_after_s(header, now=NOW) == seconds


def test_the_interval_of_polling_grows_to_its_ceiling_and_chance_takes_at_most_half() -> None:
    polling = Polling(first_s=2.0, ceiling_s=15.0)
    assert [polling.interval_s(look, chance=1.0) for look in (1, 2, 3, 4, 5, 500)] == [2, 4, 8, 15, 15, 15]
    assert polling.interval_s(1, chance=0.0) == 1.0
