"""The worker's choices, as pure functions: what to ask for, what to report, when a server is ill."""

import errno

import pytest

from comfyfleet.comfy.errors import ServerTimedOut, ServerUnreachable
from comfyfleet.comfy.model import Cancelled, Completed, Failed, FailureClass, Returned
from comfyfleet.comfy.verdict import ReturnReason
from comfyfleet.kernel.errors import FleetError
from comfyfleet.worker.failures import FailWith, GiveBack, ServerHealth, is_cuda_fault, report_error, report_outcome
from comfyfleet.worker.poll_loop import Wish, wish_for

CUDA = Failed(FailureClass.SERVER_FAULT, "CUDA error: an illegal memory access was encountered")
DISK = Failed(FailureClass.SERVER_FAULT, "No space left on device", exception_type="OSError")


@pytest.mark.parametrize(
    ("load", "ahead", "wanted"),
    [(0, 1, True), (1, 1, True), (2, 1, False), (1, 0, False), (0, 0, True)],
)
def test_one_more_than_run_is_wanted_and_no_more(load: int, ahead: int, wanted: bool) -> None:
    wish = wish_for({"self_hosted": 1}, {"self_hosted": load}, uploading=0, lease_ahead=ahead)
    assert (wish is not None) is wanted
    assert wish is None or wish.is_idle is (load == 0)


def test_without_a_server_nothing_is_wanted() -> None:
    assert wish_for({}, {}, uploading=0, lease_ahead=1) is None


def test_a_provider_that_is_idle_is_asked_for_before_one_that_only_looks_ahead() -> None:
    wish = wish_for({"self_hosted": 1, "cloud": 4}, {"self_hosted": 1, "cloud": 2}, uploading=1, lease_ahead=1)
    assert wish == Wish(("cloud",), slots=5, load=3, uploading=1)


@pytest.mark.parametrize(
    ("outcome", "report"),
    [
        (Cancelled(), FailWith(FailureClass.CANCELLED, "Cancelled, as was asked for.")),
        (Returned(ReturnReason.INTERRUPTED), GiveBack(ReturnReason.INTERRUPTED)),
        (
            Returned(ReturnReason.LOST),
            FailWith(FailureClass.INFRA, "lost: the server does not have the prompt any more."),
        ),
        (Failed(FailureClass.TIMEOUT, "late"), FailWith(FailureClass.TIMEOUT, "late")),
        (
            Failed(FailureClass.EXECUTION_ERROR, "no", node="4", node_class="KSampler", exception_type="ValueError"),
            FailWith(FailureClass.EXECUTION_ERROR, "node 4 (KSampler): ValueError: no"),
        ),
    ],
)
def test_an_outcome_has_one_report(outcome: Failed | Returned | Cancelled, report: FailWith | GiveBack) -> None:
    assert report_outcome(outcome) == report


@pytest.mark.parametrize("reason", ["lost", "server_restarted", "never_queued", "unreachable"])
def test_what_had_not_begun_when_its_server_went_costs_no_attempt(reason: str) -> None:
    assert isinstance(report_outcome(Returned(reason), begun=False), GiveBack)
    assert isinstance(report_outcome(Returned(reason), begun=True), FailWith)


@pytest.mark.parametrize("begun", [True, False])
def test_a_server_that_does_not_run_any_more_costs_the_job_no_attempt(begun: bool) -> None:
    report = report_outcome(Returned(ReturnReason.SERVER_GONE), begun=begun)
    assert report == GiveBack("server_gone: the server does not run any more: its port refuses connections.")


def test_that_nothing_says_how_it_ended_costs_one_whatever_was_heard() -> None:
    assert isinstance(report_outcome(Returned(ReturnReason.UNPROVEN), begun=False), FailWith)


@pytest.mark.parametrize(
    "error", [ServerUnreachable("s", problem="cut"), ServerTimedOut("s", route="/upload/image", limit_s=1)]
)
def test_a_server_to_which_nothing_was_posted_has_run_nothing(error: FleetError) -> None:
    assert isinstance(report_error(error, posted=False), GiveBack)
    assert isinstance(report_error(error, posted=True), FailWith)


def test_a_server_that_was_not_there_costs_no_attempt() -> None:
    assert isinstance(report_error(ServerUnreachable("s", problem="refused", sent=False)), GiveBack)
    assert isinstance(report_error(ServerUnreachable("s", problem="cut", sent=True)), FailWith)
    assert report_error(ServerTimedOut("s", route="/prompt", limit_s=1)).failure is FailureClass.INFRA  # type: ignore[union-attr]
    full = report_error(OSError(errno.ENOSPC, "No space left on device"))
    assert full == FailWith(FailureClass.SERVER_FAULT, "the worker's disk: No space left on device")


def test_a_cuda_fault_makes_a_server_ill_at_once_other_faults_two_in_a_row() -> None:
    health = ServerHealth()
    assert is_cuda_fault(CUDA)
    assert not is_cuda_fault(DISK)
    assert health.learn("a", CUDA) == CUDA.message
    assert health.learn("b", DISK) is None
    assert health.learn("b", Completed(())) is None
    assert health.learn("b", DISK) is None
    assert health.learn("b", Failed(FailureClass.EXECUTION_ERROR, "x")) is None
    assert health.learn("b", DISK) == DISK.message


@pytest.mark.parametrize(
    ("outcome", "reason"),
    [
        (Returned(ReturnReason.LOST), "service_job_not_found"),
        (Returned(ReturnReason.SERVER_RESTARTED), "service_job_not_found"),
        (Returned(ReturnReason.INTERRUPTED), None),
        (Returned(ReturnReason.UNREACHABLE), None),
        (Failed(FailureClass.EXECUTION_ERROR, "no"), "service_error"),
        (Failed(FailureClass.TIMEOUT, "too late"), None),
    ],
)
def test_a_report_says_what_the_server_did(outcome: Failed | Returned, reason: str | None) -> None:
    assert report_outcome(outcome).service_reason == reason
