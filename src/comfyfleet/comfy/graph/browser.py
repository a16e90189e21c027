"""What code of the interface itself adds to classes: inputs that no server declares, and widgets that belong together.

Taken from what the interface sends for each of them. Only classes of ComfyUI itself; custom nodes may bring code of
their own, which nobody can know.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from comfyfleet.comfy.graph.definitions import InputDefinition, NodeDefinition

CUSTOM_COMBO = "CustomCombo"
AUDIO_PLAYERS = frozenset(
    ["LoadAudio", "SaveAudio", "PreviewAudio", "SaveAudioMP3", "SaveAudioOpus", "SaveAudioAdvanced"]
)
MESH_VIEWERS = frozenset(["SaveGLB", "Preview3D"])
# Their `filename_prefix` may name dates and values of other nodes, which the interface writes in when it sends.
PREFIX_WRITERS = frozenset(
    [
        *("SaveImage", "SaveImageAdvanced", "SaveSVGNode", "SaveVideo", "SaveAnimatedWEBP", "SaveWEBM", "SaveAudio"),
        *("SaveAudioMP3", "SaveAudioOpus", "SaveAudioAdvanced", "SaveGLB", "Save3DAdvanced", "SaveGaussianSplat"),
        *("SavePointCloud", "SaveAnimatedPNG", "CLIPSave", "VAESave", "ModelSave", "LoraSave", "SaveLatent"),
    ]
)
# The value of these is made when a run starts: a camera picture, a recording, the picture of a 3D scene.
MADE_IN_A_BROWSER: Mapping[str, str] = {
    "WEBCAM": "a picture of the browser's camera",
    "AUDIO_RECORD": "a recording of the browser's microphone",
    "LOAD_3D": "a picture of a 3D scene, which the browser draws",
    "LOAD_3D_ADVANCED": "the camera of a 3D scene, which the browser holds",
}


@dataclass(frozen=True, slots=True)
class Extra:
    """A widget that stands beside that of an input."""

    name: str
    value: Any = None
    is_sent: bool = False


def drawn_inputs(definition: NodeDefinition) -> tuple[InputDefinition, ...]:
    """All inputs in the interface's order, with those that it adds."""
    added = tuple(_added(definition))
    replaced = {each.name for each in added}
    found = [each for each in definition.inputs if each.name not in replaced]
    if definition.is_ordered:
        return (*found, *added)
    # It adds to the required ones; a class without a declared order shows the optional ones after them.
    optional = [each for each in found if not each.required]
    return (*(each for each in found if each.required), *added, *optional)


def _added(definition: NodeDefinition) -> Iterator[InputDefinition]:
    required = [each for each in definition.inputs if each.required]
    if definition.class_type in MESH_VIEWERS:
        yield InputDefinition("image", "PREVIEW_3D")
    if definition.class_type == "Load3DAdvanced":
        yield InputDefinition("viewport_state", "LOAD_3D_ADVANCED")
    if definition.class_type in AUDIO_PLAYERS:
        yield InputDefinition("audioUI", "AUDIO_UI")
    if any(each.options.get("audio_upload") is True and each.name == "audio" for each in required):
        yield InputDefinition("upload", "AUDIOUPLOAD")
    elif any(each.is_upload for each in required):
        yield InputDefinition("upload", "IMAGEUPLOAD")


def extras_before(widget: InputDefinition, known: Mapping[str, Any]) -> tuple[Extra, ...]:
    if widget.widget_type == "LOAD_3D" and "model_file" in known:
        names = {"upload 3d model": "upload3dmodel", "upload extra resources": "uploadExtraResources", "clear": "clear"}
        return tuple(Extra(name, value, is_sent=True) for name, value in names.items())
    return ()


def extras_after(widget: InputDefinition) -> tuple[Extra, ...]:
    if widget.widget_type == "BOUNDING_BOX":
        return tuple(map(Extra, ("x", "y", "width", "height")))
    return ()


def is_sent(widget: InputDefinition) -> bool:
    """Buttons and players are the browser's alone."""
    return widget.widget_type not in ("IMAGEUPLOAD", "AUDIOUPLOAD", "AUDIO_UI")


def is_saved(widget: InputDefinition) -> bool:
    """Has a place among a file's values."""
    return widget.widget_type not in ("AUDIO_UI", "IMAGECOMPARE")


def keeps_value(widget: InputDefinition) -> bool:
    """A preview's widget has a place in the file, and is always empty when it is sent."""
    return widget.widget_type != "PREVIEW_3D"
