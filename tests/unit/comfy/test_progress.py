"""The fraction never falls and ends at one, whatever dialect a server speaks."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from comfyfleet.comfy.frames import parse_frame
from comfyfleet.comfy.messages import (
    Executed,
    Executing,
    ExecutionCached,
    ExecutionSuccess,
    Heard,
    NodeState,
    ProgressState,
    ProgressStep,
    Status,
)
from comfyfleet.comfy.model import Progress
from comfyfleet.comfy.progress import Progression

RECORDINGS = Path(__file__).parents[2] / "recordings" / "v0.33.0"
GRAPH = {node: {"class_type": f"Class{node}", "inputs": {}} for node in ("1", "2", "3", "4")}


def _runs(path: Path) -> Iterator[tuple[dict[str, Any], list[Heard]]]:
    """Each prompt that a recording follows from its POST to its success, and its messages."""
    records = [json.loads(line) for line in path.read_text().splitlines()]
    for record in records:
        posted = record["kind"] == "http" and record["request"]["path"] == "/prompt" and record["response"].get("json")
        if not posted or record["request"]["method"] != "POST" or "prompt_id" not in posted:
            continue
        heard = [parse_frame(json.dumps(each["message"])) for each in records if each["kind"] == "ws_text"]
        ours = [message for message in heard if getattr(message, "prompt_id", None) == posted["prompt_id"]]
        if any(isinstance(message, ExecutionSuccess) for message in ours):
            yield record["request"]["json"]["prompt"], ours


@pytest.mark.parametrize("path", sorted(RECORDINGS.glob("*.jsonl")), ids=lambda path: path.stem)
def test_recorded_runs_rise_to_one(path: Path) -> None:
    for graph, messages in _runs(path):
        told = _tell(graph, messages)
        fractions = [progress.fraction for progress in told]
        assert fractions == sorted(fractions)
        assert fractions[-1] == 1.0
        assert all(progress.nodes_total == len(graph) for progress in told)
        assert all(progress.nodes_done <= len(graph) for progress in told)


def test_the_recordings_hold_runs_to_replay() -> None:
    assert sum(1 for path in RECORDINGS.glob("*.jsonl") for _ in _runs(path)) > 50


def _tell(graph: dict[str, Any], messages: list[Heard]) -> list[Progress]:
    progression = Progression(graph)
    told = [progression.hear(message, now_s=float(index)) for index, message in enumerate(messages)]
    return [progress for progress in [*told, progression.finish()] if progress is not None]


def test_the_sampler_of_the_recording_counts_its_eight_steps() -> None:
    graph, messages = next(iter(_runs(RECORDINGS / "a2_success_ksampler_previews.jsonl")))
    sampling = [each for each in _tell(graph, messages) if each.node_class == "KSampler" and each.step]
    assert [each.step for each in sampling] == [1, 2, 3, 4, 5, 6, 7, 8, 8]  # the last as it is done
    assert {each.steps for each in sampling} == {8}
    fractions = [each.fraction for each in sampling[:-1]]
    assert fractions == sorted(set(fractions))  # every step moves the bar
    # Of 7 nodes the loader, two texts and the empty picture are done, and one of the sampler's 8 steps.
    assert fractions[0] == pytest.approx((1 + 0.5 + 0.5 + 0.2 + 1) / (1 + 0.5 + 0.5 + 0.2 + 8 + 2 + 0.5))


def test_an_old_server_tells_it_by_executing_and_progress_alone() -> None:
    messages: list[Heard] = [
        Executing("1", "p"),
        Executing("2", "p"),
        ProgressStep(1, 2, "p", "2"),
        Executing("3", "p"),
    ]
    told = _tell(GRAPH, messages)
    assert [each.fraction for each in told] == pytest.approx([0.0, 0.25, 0.375, 0.5, 1.0])
    assert [each.node_class for each in told] == ["Class1", "Class2", "Class2", "Class3", None]


def test_cached_nodes_are_done_and_no_part_of_the_way() -> None:
    told = _tell(GRAPH, [ExecutionCached("p", ("1", "2", "3"))])
    assert [(each.fraction, each.nodes_done) for each in told] == [(0.0, 3), (1.0, 4)]


def test_it_is_whole_at_the_end_only() -> None:
    told = _tell(GRAPH, [each for node in GRAPH for each in (Executing(node, "p"), Executed("p", node))])
    reached = sorted({round(each.fraction, 4) for each in told})
    assert reached == [0.0, 0.25, 0.5, 0.75, 0.99, 1.0]
    assert [each.fraction for each in told].count(1.0) == 1


def test_nodes_made_at_run_time_are_named_by_their_maker_and_do_not_count() -> None:
    states = {"2": NodeState(0, 1, "pending"), "2.0.0.7": NodeState(5, 10, "running")}
    told = _tell(GRAPH, [Executing("1", "p"), ProgressState("p", states)])
    assert (told[1].node, told[1].node_class, told[1].fraction) == ("2.0.0.7", "Class2", 0.0)
    assert (told[1].step, told[1].steps) == (5, 10)


def test_nothing_new_is_not_told_again() -> None:
    progression = Progression(GRAPH)
    assert progression.hear(Executing("1", "p"), now_s=0) is not None
    assert progression.hear(Executing("1", "p"), now_s=1) is None
    assert progression.hear(Status(3), now_s=2) is None


def test_a_node_that_runs_again_has_the_sum_of_its_times() -> None:
    progression = Progression(GRAPH)
    for at_s, node in enumerate(["1", "2", "1", None]):
        progression.hear(Executing(node, "p"), now_s=float(at_s))
    assert progression.timings_s == {"1": 2.0, "2": 1.0}


NODES = st.sampled_from(["1", "2", "3", "4", "9", "2.0.0.1"])
NUMBERS = st.floats(allow_nan=True, allow_infinity=True)
STATES = st.builds(NodeState, NUMBERS, NUMBERS, st.sampled_from(["pending", "running", "finished", "error", "odd"]))
MESSAGES = st.one_of(
    st.builds(Executing, st.none() | NODES, st.just("p")),
    st.builds(ProgressStep, NUMBERS, NUMBERS, st.just("p"), st.none() | NODES),
    st.builds(ProgressState, st.just("p"), st.dictionaries(NODES, STATES, max_size=5)),
    st.builds(ExecutionCached, st.just("p"), st.tuples(NODES, NODES)),
    st.builds(Executed, st.just("p"), NODES),
)


WEIGHTS = st.none() | st.dictionaries(NODES, st.floats(0, 1e6))


@given(st.lists(MESSAGES, max_size=30), st.sampled_from([GRAPH, {}, {"1": "no node"}]), WEIGHTS)
def test_no_message_makes_it_fall_or_leave_its_bounds(
    messages: list[Heard], graph: dict[str, Any], weights: dict[str, float] | None
) -> None:
    progression = Progression(graph, weights)
    told = [progression.hear(message, now_s=float(index)) for index, message in enumerate(messages)]
    before = [progress.fraction for progress in told if progress is not None]
    assert before == sorted(before)
    assert all(0.0 <= fraction < 1.0 for fraction in before), "only its end is whole"
    done = progression.finish()
    assert done is None or done.fraction == 1.0
