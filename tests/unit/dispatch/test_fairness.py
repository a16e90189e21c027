"""Tags inside a lane: the sums, one line each."""

from comfyfleet.dispatch.fairness import finish_tag, share_cost, start_tags, virtual_now


def test_a_heavier_tenant_goes_less_far_with_the_same_job() -> None:
    assert share_cost(60.0, 1) == 60.0
    assert share_cost(60.0, 4) == 15.0


def test_a_lane_stands_at_its_head_and_an_empty_one_at_the_latest_end() -> None:
    assert virtual_now(5.0, 100.0) == 5.0
    assert virtual_now(0.0, 100.0) == 0.0
    assert virtual_now(None, 100.0) == 100.0
    assert virtual_now(None, None) == 0.0


def test_a_share_goes_on_from_its_own_end_or_from_now() -> None:
    assert finish_tag(None, 10.0, 5.0) == 15.0
    assert finish_tag(40.0, 10.0, 5.0) == 45.0
    assert finish_tag(2.0, 10.0, 5.0) == 15.0


def test_jobs_queued_together_stand_one_after_the_other() -> None:
    assert start_tags(60.0, [10.0, 20.0, 30.0]) == [0.0, 10.0, 30.0]


def test_ten_thousand_jobs_of_one_tenant_stand_behind_the_first_of_another() -> None:
    flood = start_tags(finish_tag(None, 0.0, 10_000 * 60.0), [60.0] * 10_000)
    newcomer = start_tags(finish_tag(None, virtual_now(flood[0], None), 60.0), [60.0])
    assert sum(tag < newcomer[0] for tag in flood) == 0
    assert sum(tag <= newcomer[0] for tag in flood) == 1
