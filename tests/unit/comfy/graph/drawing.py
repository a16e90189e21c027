"""Workflows as ComfyUI's interface saves them, drawn by tests."""

from dataclasses import dataclass, field
from typing import Any


@dataclass
class Drawing:
    """One level: the root, or with `io` the definition of a subgraph."""

    nodes: list[dict[str, Any]] = field(default_factory=list)
    links: list[list[Any]] = field(default_factory=list)
    inputs: list[dict[str, Any]] = field(default_factory=list)
    outputs: list[dict[str, Any]] = field(default_factory=list)

    def node(
        self,
        node_id: int,
        kind: str,
        values: Any = None,
        *,
        takes: dict[str, str] | None = None,
        widgets: tuple[str, ...] = (),
        gives: tuple[str, ...] = (),
        mode: int = 0,
        title: str | None = None,
        **properties: Any,
    ) -> "Drawing":
        inputs = [
            {"name": name, "type": each, "link": None} | ({"widget": {"name": name}} if name in widgets else {})
            for name, each in (takes or {}).items()
        ]
        outputs = [{"name": each, "type": each, "links": []} for each in gives]
        drawn = {"id": node_id, "type": kind, "mode": mode, "inputs": inputs, "outputs": outputs}
        drawn |= {"widgets_values": values, "properties": properties} | ({"title": title} if title else {})
        self.nodes.append(drawn)
        return self

    def link(self, origin: int, slot: int, target: int, name: str | int) -> "Drawing":
        link_id = len(self.links) + 1
        place = name
        if isinstance(name, str):
            inputs = next(each for each in self.nodes if each["id"] == target)["inputs"]
            place = next(place for place, each in enumerate(inputs) if each["name"] == name)
            inputs[place]["link"] = link_id
        for each in self.nodes:
            if each["id"] == origin and slot < len(each["outputs"]):
                each["outputs"][slot]["links"].append(link_id)
        self.links.append([link_id, origin, slot, target, place, "*"])
        return self

    def workflow(self, **subgraphs: "Drawing") -> dict[str, Any]:
        definitions = [each.definition(name) for name, each in subgraphs.items()]
        root = {"nodes": self.nodes, "links": self.links, "extra": {}, "version": 0.4}
        return root | ({"definitions": {"subgraphs": definitions}} if definitions else {})

    def definition(self, name: str) -> dict[str, Any]:
        keys = ("id", "origin_id", "origin_slot", "target_id", "target_slot", "type")
        links = [dict(zip(keys, each, strict=True)) for each in self.links]
        io = {"inputNode": {"id": -10}, "outputNode": {"id": -20}, "inputs": self.inputs, "outputs": self.outputs}
        return {"id": name, "name": name, "nodes": self.nodes, "links": links} | io


def slot(name: str, kind: str) -> dict[str, Any]:
    return {"name": name, "type": kind}


SAMPLER_TAKES = {
    "model": "MODEL",
    "positive": "CONDITIONING",
    "negative": "CONDITIONING",
    "latent_image": "LATENT",
}


def default_workflow() -> Drawing:
    """What ComfyUI shows when it is opened for the first time."""
    made = Drawing()
    made.node(7, "CLIPTextEncode", ["text, watermark"], takes={"clip": "CLIP"}, gives=("CONDITIONING",))
    made.node(6, "CLIPTextEncode", ["beautiful scenery"], takes={"clip": "CLIP"}, gives=("CONDITIONING",))
    made.node(5, "EmptyLatentImage", [512, 512, 1], gives=("LATENT",))
    sampling = [156680208700286, "randomize", 20, 8, "euler", "normal", 1]
    made.node(3, "KSampler", sampling, takes=SAMPLER_TAKES, gives=("LATENT",))
    made.node(8, "VAEDecode", [], takes={"samples": "LATENT", "vae": "VAE"}, gives=("IMAGE",))
    made.node(9, "SaveImage", ["ComfyUI"], takes={"images": "IMAGE"})
    made.node(4, "CheckpointLoaderSimple", ["v1-5.safetensors"], gives=("MODEL", "CLIP", "VAE"))
    made.link(4, 0, 3, "model").link(5, 0, 3, "latent_image").link(4, 1, 6, "clip").link(6, 0, 3, "positive")
    made.link(4, 1, 7, "clip").link(7, 0, 3, "negative").link(3, 0, 8, "samples").link(4, 2, 8, "vae")
    return made.link(8, 0, 9, "images")
