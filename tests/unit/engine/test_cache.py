"""What makes two nodes the same."""

from pathlib import Path

from comfyfleet.engine.cache import Cache, Kept, sign
from comfyfleet.engine.folders import Folders
from comfyfleet.engine.node import Context, Inputs, Made, Node, Output
from comfyfleet.engine.registry import Registry


class Plain(Node):
    outputs = (Output("*"),)

    def run(self, inputs: Inputs, context: Context) -> Made:
        return Made(None)


class Restless(Plain):
    def fingerprint(self, inputs: Inputs, folders: Folders) -> object:
        return float("nan")


class Named(Plain):
    hidden = {"own": "UNIQUE_ID"}


REGISTRY = Registry([Plain(), Restless(), Named()])
FOLDERS = Folders(Path("nowhere"))


def signed(**nodes: tuple[str, dict]) -> dict[str, str]:
    graph = {node_id: {"class_type": kind, "inputs": inputs} for node_id, (kind, inputs) in nodes.items()}
    return sign(graph, REGISTRY, FOLDERS)


def test_ids_and_order_of_inputs_do_not_matter_and_values_do():
    one = signed(a=("Plain", {"x": 1, "y": 2}), b=("Plain", {"link": ["a", 0]}))
    other = signed(q=("Plain", {"link": ["p", 0]}), p=("Plain", {"y": 2, "x": 1}))
    changed = signed(a=("Plain", {"x": 1, "y": 3}), b=("Plain", {"link": ["a", 0]}))

    assert (one["a"], one["b"]) == (other["p"], other["q"])
    assert one["b"] != changed["b"]


def test_another_slot_is_another_value():
    graph = signed(a=("Plain", {}), b=("Plain", {"link": ["a", 0]}), c=("Plain", {"link": ["a", 1]}))

    assert graph["b"] != graph["c"]


def test_who_never_equals_itself_is_never_cached_nor_what_hangs_on_it():
    graph = {"a": ("Restless", {}), "b": ("Plain", {"link": ["a", 0]})}

    assert signed(**graph)["b"] != signed(**graph)["b"]


def test_who_asks_for_its_own_id_is_known_by_it():
    graph = signed(a=("Named", {}), b=("Named", {}), c=("Plain", {}), d=("Plain", {}))

    assert graph["a"] != graph["b"]
    assert graph["c"] == graph["d"]


def test_only_what_the_newest_prompt_could_use_is_kept():
    cache = Cache()
    one = {"a": {"class_type": "Plain", "inputs": {"x": 1}}}
    cache.turn_to(one, REGISTRY, FOLDERS)
    cache.put("a", Kept(([1],), None, None))
    assert cache.get("a") is not None

    cache.turn_to({"a": {"class_type": "Plain", "inputs": {"x": 2}}}, REGISTRY, FOLDERS)
    assert cache.get("a") is None
    cache.turn_to(one, REGISTRY, FOLDERS)
    assert cache.get("a") is None


def test_a_deep_graph_is_signed_without_recursion():
    graph = {"0": ("Plain", {})} | {str(n): ("Plain", {"link": [str(n - 1), 0]}) for n in range(1, 5000)}

    assert len(set(signed(**graph).values())) == 5000
