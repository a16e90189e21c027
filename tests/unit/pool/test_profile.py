from comfyfleet.comfy.model import Completed
from comfyfleet.pool.profile import NodeProfile, profile_of

GRAPH = {name: {"class_type": f"Class{name}", "inputs": {}} for name in ("1", "2", "3", "4")}


def test_the_slowest_node_comes_first_and_cached_ones_are_marked() -> None:
    done = Completed((), node_timings_s={"2": 0.5, "3": 2.0}, cached_nodes=frozenset({"1"}))
    profile = profile_of(GRAPH, done, waited_s=1.0, took_s=3.0)
    assert profile.nodes == (
        NodeProfile("3", "Class3", 2.0, cached=False),
        NodeProfile("2", "Class2", 0.5, cached=False),
        NodeProfile("1", "Class1", 0.0, cached=True),
    )
    assert (profile.nodes_s, profile.cached_count, profile.waited_s, profile.took_s) == (2.5, 1, 1.0, 3.0)


def test_a_node_that_another_node_made_is_told_too() -> None:
    done = Completed((), node_timings_s={"4.0.0.1": 1.0})
    assert profile_of(GRAPH, done, waited_s=0, took_s=1).nodes == (NodeProfile("4.0.0.1", "", 1.0, cached=False),)


def test_clocks_that_ran_backwards_make_no_negative_times() -> None:
    profile = profile_of(GRAPH, Completed((), node_timings_s={"1": -0.2}), waited_s=-1.0, took_s=-2.0)
    assert (profile.nodes[0].seconds, profile.waited_s, profile.took_s) == (0.0, 0.0, 0.0)
