"""What a node is: what it takes and makes, how it describes itself, and `run`.

A node is a class; the class name is its ComfyUI name. One object of it serves all prompts, one at a time, so `run`
keeps nothing on `self`. Pictures travel as NumPy float32 arrays [batch, height, width, channels] from 0 to 1, masks
as [batch, height, width].

    class ImageInvert(Node):
        display_name = "Invert Image Colors"
        category = "image/color"
        required = {"image": ("IMAGE",)}
        outputs = (Output("IMAGE"),)

        def run(self, inputs: Inputs, context: Context) -> Made:
            return Made(1.0 - inputs["image"])
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Final, Literal, TypeAlias

from comfyfleet.engine.folders import Folders

Inputs: TypeAlias = Mapping[str, Any]
# As in ComfyUI: ("INT", {"min": 0}), (["nearest", "bilinear"],), ("COMBO", {"options": […]}); or a function of the
# folders where the choices are files.
Spec: TypeAlias = tuple[Any, ...] | str
InputSpec: TypeAlias = Spec | Callable[[Folders], Spec]


class Interrupted(Exception):
    """Somebody called /interrupt. Nodes let it pass."""


@dataclass(frozen=True, slots=True)
class Preview:
    """A picture on the way, encoded."""

    image: bytes
    format: Literal["JPEG", "PNG"] = "JPEG"


@dataclass(frozen=True, slots=True)
class Output:
    type: str
    name: str | None = None
    tooltip: str | None = None
    is_list: bool = False


class Made:
    """What a run made: one value for each output, and what the client is shown (`ui`: the history's outputs)."""

    __slots__ = ("ui", "values")

    def __init__(self, *values: Any, ui: Mapping[str, Any] | None = None) -> None:
        self.values: Final = values
        self.ui: Final = ui


def _no_progress(value: float, steps: float, preview: Preview | None) -> None:
    """Nobody watches."""


def _no_interrupt() -> None:
    """Nobody interrupts."""


def _no_listener(text: str) -> None:
    """Nobody reads."""


@dataclass(frozen=True, slots=True)
class Context:
    """What a run may know and touch beside its inputs."""

    folders: Folders
    node_id: str = ""
    prompt_id: str = ""
    graph: Mapping[str, Any] = field(default_factory=dict)
    extra_pnginfo: Mapping[str, Any] | None = None
    preview_method: str | None = None  # `extra_data.preview_method`: what the client wants to see on the way
    report: Callable[[float, float, Preview | None], None] = _no_progress
    # Between the parts of work too small to report: raises Interrupted, says nothing to the client.
    check: Callable[[], None] = _no_interrupt
    # A line of text on the node: a binary frame of type 3.
    say: Callable[[str], None] = _no_listener

    def step(self, value: float, steps: float, preview: Preview | None = None) -> None:
        """Say that `value` of `steps` are done. Call it between the steps of anything slow: raises Interrupted."""
        self.report(value, steps, preview)


class Node(ABC):
    display_name: ClassVar[str] = ""
    category: ClassVar[str] = ""
    description: ClassVar[str] = ""
    python_module: ClassVar[str] = "nodes"
    search_aliases: ClassVar[tuple[str, ...] | None] = ()
    required: ClassVar[Mapping[str, InputSpec]] = {}
    optional: ClassVar[Mapping[str, InputSpec]] = {}
    # Values are "PROMPT", "EXTRA_PNGINFO" or "UNIQUE_ID"; they come as inputs under their names.
    hidden: ClassVar[Mapping[str, InputSpec]] = {}
    outputs: ClassVar[tuple[Output, ...]] = ()
    output_node: ClassVar[bool] = False
    # All values of a list at once instead of one run for each.
    is_input_list: ClassVar[bool] = False
    # Written for ComfyUI's newer schema: its object_info has other keys.
    newer_schema: ClassVar[bool] = False
    # Keys that object_info has for this class only, e.g. essentials_category.
    extra_facts: ClassVar[Mapping[str, Any]] = {}
    # Inputs whose values `problem` judges; the usual checks (range, choices) are left out for them.
    judged: ClassVar[tuple[str, ...]] = ()

    @property
    def name(self) -> str:
        return type(self).__name__

    @abstractmethod
    def run(self, inputs: Inputs, context: Context) -> Made: ...

    def problem(self, inputs: Inputs, folders: Folders) -> str | None:
        """ComfyUI's VALIDATE_INPUTS: why the judged inputs are wrong, before anything runs. Links are not resolved."""
        return None

    def fingerprint(self, inputs: Inputs, folders: Folders) -> object:
        """ComfyUI's IS_CHANGED: if this differs from the last time, the cached result does not hold. Linked inputs
        are None. NaN never equals itself: the node then runs every time."""
        return None

    def input_specs(self, folders: Folders) -> dict[str, dict[str, Spec]]:
        parts = {"required": self.required, "optional": self.optional, "hidden": self.hidden}
        return {
            part: {name: spec(folders) if callable(spec) else spec for name, spec in specs.items()}
            for part, specs in parts.items()
            if specs or part == "required"
        }
