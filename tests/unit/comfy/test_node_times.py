"""A node's part of the way is its part of the time: as its kind usually takes first, then as it took before."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from comfyfleet.comfy.messages import Executed, Executing, ExecutionCached, Heard, ProgressStep
from comfyfleet.comfy.model import Completed
from comfyfleet.comfy.node_times import NODES_MAX, RUNS_MAX, WORKFLOWS_MAX, NodeTimes, node_weights
from comfyfleet.comfy.progress import Progression


def _drawing(steps: Any = 200, **sampler: Any) -> dict[str, Any]:
    return {
        "1": {"class_type": "CheckpointLoaderSimple", "inputs": {"ckpt_name": "a.safetensors"}},
        "2": {"class_type": "CLIPTextEncode", "inputs": {"clip": ["1", 1], "text": "a boat"}},
        "3": {"class_type": "CLIPTextEncode", "inputs": {"clip": ["1", 1], "text": ""}},
        "4": {"class_type": "EmptyLatentImage", "inputs": {"width": 512, "height": 512, "batch_size": 1}},
        "5": {
            "class_type": "KSampler",
            "inputs": {"model": ["1", 0], "positive": ["2", 0], "latent_image": ["4", 0], "steps": steps, **sampler},
        },
        "6": {"class_type": "VAEDecode", "inputs": {"samples": ["5", 0], "vae": ["1", 2]}},
        "7": {"class_type": "SaveImage", "inputs": {"images": ["6", 0]}},
    }


def _at_step(step: int, graph: dict[str, Any], weights: dict[str, float], *, cached: tuple[str, ...] = ()) -> float:
    messages: list[Heard] = [ExecutionCached("p", cached)] if cached else []
    messages += [Executing(node, "p") for node in graph if node < "5" and node not in cached]
    messages += [Executing("5", "p"), ProgressStep(step, 200, "p", "5")]
    progression = Progression(graph, weights)
    told = [progression.hear(message, now_s=0.0) for message in messages]
    return max(progress.fraction for progress in told if progress is not None)


TOOK_S = {"1": 4.0, "2": 0.1, "3": 0.1, "4": 0.0, "5": 200.0, "6": 1.0, "7": 0.5}


def test_step_42_of_200_is_a_fifth_of_the_way_on_the_first_run_and_after_others() -> None:
    times, graph = NodeTimes(), _drawing()
    assert 0.19 <= _at_step(42, graph, times.weights("s", graph)) <= 0.23
    for _ in range(3):
        times.learn("s", graph, Completed((), node_timings_s=TOOK_S))
    learned = _at_step(42, graph, times.weights("s", graph))
    assert learned == pytest.approx((4.2 + 42.0) / 205.7, abs=0.001)
    cached = _at_step(42, graph, times.weights("s", graph), cached=("1", "2", "3", "4"))
    assert cached == pytest.approx(42.0 / 201.5, abs=0.001)


def test_a_first_node_that_takes_most_of_the_time_is_most_of_the_way() -> None:
    """What the first guess cannot know, the second run does."""
    times, graph = NodeTimes(), _drawing(4)
    times.learn("s", graph, Completed((), node_timings_s={**TOOK_S, "1": 90.0, "5": 8.5}))
    progression = Progression(graph, times.weights("s", graph))
    told = [progression.hear(message, now_s=0.0) for message in (Executing("1", "p"), Executing("2", "p"))]
    assert told[1] is not None
    assert told[1].fraction == pytest.approx(90.0 / 100.2, abs=0.001)


def test_more_steps_than_before_weigh_more() -> None:
    """The structure hash is the same whatever number of steps a user asks for."""
    times, short, long = NodeTimes(), _drawing(10), _drawing(200)
    times.learn("s", short, Completed((), node_timings_s={**TOOK_S, "5": 10.0}))
    assert times.weights("s", long)["5"] == pytest.approx(200.0)
    assert times.weights("s", long)["1"] == pytest.approx(4.0)


@pytest.mark.parametrize(
    ("changes", "steps"),
    [
        ({"steps": 30}, 30.0),
        ({"steps": 30, "start_at_step": 20, "end_at_step": 10_000}, 10.0),
        ({"steps": 30, "start_at_step": 0, "end_at_step": 12}, 12.0),
        ({"steps": ["9", 0]}, 24.0),
        ({"steps": None, "sigmas": ["10", 1]}, 16.0),
        ({"steps": None}, 20.0),
        ({"steps": "many"}, 20.0),
        ({"steps": -4}, 1.0),
        ({"steps": float("inf")}, 10_000.0),
        ({"steps": float("nan")}, 20.0),
        ({"steps": None, "sigmas": ["11", 0]}, 20.0),
    ],
)
def test_a_sampler_weighs_its_steps(changes: dict[str, Any], steps: float) -> None:
    graph = {
        **_drawing(),
        "9": {"class_type": "PrimitiveInt", "inputs": {"value": 24}},
        "10": {"class_type": "SplitSigmas", "inputs": {"sigmas": ["12", 0], "step": 3}},
        "11": {"class_type": "SplitSigmas", "inputs": {"sigmas": ["11", 0]}},  # a circle ends
        "12": {"class_type": "BasicScheduler", "inputs": {"model": ["1", 0], "steps": 16}},
        "13": {"class_type": "KSamplerSelect", "inputs": {"sampler_name": "euler"}},
    }
    graph["5"]["inputs"] |= changes
    weights = node_weights(graph, {})
    assert weights["5"] == steps
    assert weights["13"] < 1, "it names a sampler and samples nothing"


def test_what_is_remembered_is_bounded() -> None:
    times, graph = NodeTimes(), _drawing()
    for number in range(WORKFLOWS_MAX + 1):
        times.learn(f"s{number}", graph, Completed((), node_timings_s=TOOK_S))
    assert times.weights("s0", graph) == node_weights(graph, {})
    assert times.weights("s1", graph) != node_weights(graph, {})
    huge = {str(number): {"class_type": "A", "inputs": {}} for number in range(NODES_MAX + 1)}
    assert times.learn("huge", huge, Completed((), node_timings_s={"1": 1.0})) is None


def test_a_server_that_has_become_faster_is_believed_after_a_while() -> None:
    times, graph = NodeTimes(), _drawing()
    for seconds in [200.0] * 50 + [20.0] * RUNS_MAX * 3:
        times.learn("s", graph, Completed((), node_timings_s={**TOOK_S, "5": seconds}))
    assert times.weights("s", graph)["5"] == pytest.approx(20.0, rel=0.5)


def test_nodes_made_at_run_time_count_for_their_maker() -> None:
    times, graph = NodeTimes(), _drawing()
    times.learn("s", graph, Completed((), node_timings_s={"6": 1.0, "6.0.0.1": 4.0, "strange": 9.0}))
    assert times.weights("s", graph)["6"] == pytest.approx(5.0)


SECONDS = st.floats(-5, 1e5)


@given(st.lists(st.dictionaries(st.sampled_from("1234567"), SECONDS), max_size=4), st.permutations("1234567"))
def test_whatever_was_learned_it_rises_to_one(runs: list[dict[str, float]], order: list[str]) -> None:
    times, graph = NodeTimes(), _drawing(8)
    for timings_s in runs:
        times.learn("s", graph, Completed((), node_timings_s=timings_s))
    progression = Progression(graph, times.weights("s", graph))
    fractions = []
    for node in order:
        for message in (Executing(node, "p"), ProgressStep(3, 8, "p", node), Executed("p", node)):
            told = progression.hear(message, now_s=0.0)
            fractions += [] if told is None else [told.fraction]
    assert fractions == sorted(fractions)
    assert all(0.0 <= fraction < 1.0 for fraction in fractions)
    end = progression.finish()
    assert end is not None
    assert end.fraction == 1.0
