"""What scorers choose: pure, from what was measured."""

from datetime import UTC, datetime

import pytest

from comfyfleet.cli.runs import SCORERS as SCORERS_OF_THE_CLI
from comfyfleet.kernel.ids import CandidateId, FileId, JobId, RunId, TenantId, new_id
from comfyfleet.pipelines.lifecycle import CandidateStatus
from comfyfleet.pipelines.model import SCORERS, Candidate
from comfyfleet.pipelines.scoring.choose import BY_NAME, choose

# Two that look alike, and two that look like nothing else.
NIGHT, SAME_NIGHT, DAY, NOON = 0x0F0F_0F0F, 0x0F0F_0F0E, 0xFFFF_0000, 0x3333_3333


def a_candidate(sharpness: float, exposure: float, low: int) -> Candidate:
    return Candidate(
        id=CandidateId(new_id()),
        tenant_id=TenantId(new_id()),
        run_id=RunId(new_id()),
        position=0,
        parent_id=None,
        job_id=JobId(new_id()),
        file_id=FileId(new_id()),
        image_index=0,
        seed=1,
        status=CandidateStatus.ACTIVE,
        is_passed=True,
        elo=1000.0,
        votes=0,
        children=0,
        started=0,
        failures=0,
        scores={"sharpness": sharpness, "exposure": exposure, "hash_high": low, "hash_low": low},
        created_at=datetime.now(UTC),
        rejected_at=None,
    )


RANKED = [
    a_candidate(10, 0.9, NIGHT),
    a_candidate(30, 0.5, SAME_NIGHT),
    a_candidate(20, 0.7, DAY),
    a_candidate(5, 0.8, NOON),
]


@pytest.mark.parametrize(
    ("scorer", "kept"),
    [
        ("sharpness", [1, 2]),
        ("exposure", [0, 3]),
        ("unique", [0, 2, 3]),  # how many go on, the gate says, by rank
        ("sharpness+unique", [1, 2]),
        ("exposure+unique", [0, 3]),
    ],
)
def test_whom_each_of_them_keeps_of_four_for_two(scorer: str, kept: list[int]) -> None:
    over = choose(scorer, RANKED, top=2).passed_over
    assert [at for at, each in enumerate(RANKED) if each.id not in over] == kept


def test_of_two_alike_the_sharper_stays() -> None:
    choice = choose("sharpness+unique", RANKED, top=4)
    assert choice.passed_over == (RANKED[0].id,)
    assert choice.unique[RANKED[1].id] == 1.0
    assert choice.unique[RANKED[0].id] < 0.1


def test_every_name_that_a_run_may_say_has_its_scorer() -> None:
    assert tuple(BY_NAME) == SCORERS == SCORERS_OF_THE_CLI
