"""What a worker lacks for a workflow."""

import pytest

from comfyfleet.fleet.needs.model import Capabilities, Needs, lacks, take_apart

NEEDS = Needs("face-swap", "self_hosted", frozenset(["KSampler", "Swap"]), frozenset(["a.safetensors"]), vram_gb=24.0)
ALL = {"node_classes": ["KSampler", "Swap", "More"], "weights": ["a.safetensors"], "vram_gb": 24.0}


@pytest.mark.parametrize(
    ("change", "lacking"),
    [
        ({}, ()),
        ({"node_classes": ["KSampler"]}, ("node classes: Swap",)),
        ({"weights": []}, ("weights: a.safetensors",)),
        ({"vram_gb": 23.9}, ("24 GB of GPU memory (it has 23.9)",)),
        ({"node_classes": [], "weights": []}, ("node classes: KSampler, Swap", "weights: a.safetensors")),
        # A loader that tells no list may have the file: nothing can be said.
        ({"weights": [], "unlisted_loaders": ["Swap"]}, ()),
        ({"weights": [], "unlisted_loaders": ["Other"]}, ("weights: a.safetensors",)),
        # What was not said, or is no list of names, says nothing.
        ({"node_classes": None, "weights": "a", "vram_gb": "much"}, ()),
        ({"node_classes": [1], "weights": {"a": 1}, "vram_gb": True}, ()),
    ],
)
def test_what_a_worker_lacks(change: dict[str, object], lacking: tuple[str, ...]) -> None:
    assert lacks(NEEDS, Capabilities.from_json({**ALL, **change})) == lacking


def test_who_says_nothing_is_believed_and_a_cloud_is_not_asked() -> None:
    assert lacks(NEEDS, None) == ()
    on_cloud = Needs("x", "cloud", NEEDS.node_classes, NEEDS.weights, 24.0)
    assert lacks(on_cloud, Capabilities.from_json({"node_classes": [], "weights": [], "vram_gb": 0})) == ()


def test_many_missing_names_are_counted() -> None:
    needs = Needs("x", "self_hosted", frozenset(f"Node{number}" for number in range(9)))
    assert lacks(needs, Capabilities.from_json({"node_classes": []})) == (
        "node classes: Node0, Node1, Node2 and 6 more",
    )


def test_the_long_lists_are_told_from_the_facts_and_named_by_their_contents() -> None:
    said = take_apart({**ALL, "servers": [{"name": "a"}]})
    assert said.facts == {"node_classes": 3, "weights": 1, "vram_gb": 24.0, "servers": [{"name": "a"}]}
    other_order = take_apart(
        {"vram_gb": 24, "weights": ["a.safetensors"], "node_classes": ["More", "Swap", "KSampler"]}
    )
    assert said.digest == other_order.digest
    assert said.digest != take_apart({**ALL, "weights": []}).digest
    assert take_apart({"gpu": "H100"}).digest is None
