"""What a server says of its node classes (GET /object_info), read once into values."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

ObjectInfo: TypeAlias = Mapping[str, Any]

DYNAMIC_COMBO = "COMFY_DYNAMICCOMBO_V3"
UPLOADS = ("image_upload", "video_upload", "audio_upload", "animated_image_upload", "model_upload")
WIDGET_TYPES = frozenset(
    ["BOOLEAN", "COLOR", "COMBO", DYNAMIC_COMBO, "FLOAT", "INT", "MARKDOWN", "STRING", "TEXTAREA"],
)
SEED_NAMES = frozenset(["seed", "noise_seed"])


@dataclass(frozen=True, slots=True)
class InputDefinition:
    name: str
    type: str
    required: bool = True
    options: Mapping[str, Any] = field(default_factory=dict)
    choices: tuple[Any, ...] | None = None  # of a COMBO

    @property
    def is_widget(self) -> bool:
        """Drawn on the node, so that its value stands in the node itself. The rest are sockets."""
        if self.options.get("forceInput"):
            return False
        return self.type in WIDGET_TYPES or "widgetType" in self.options

    @property
    def is_upload(self) -> bool:
        return any(self.options.get(upload) for upload in UPLOADS)

    @property
    def is_seed(self) -> bool:
        return self.type == "INT" and self.has_control

    @property
    def has_control(self) -> bool:
        """A second widget after it says what happens to the value between two runs."""
        declared = self.options.get("control_after_generate")
        return self.type == "INT" and self.name in SEED_NAMES if declared is None else bool(declared)

    @property
    def default(self) -> Any:
        """As the interface fills in what a file does not hold."""
        if "default" in self.options:
            return self.options["default"]
        if self.type == DYNAMIC_COMBO:
            return next((key for key, _ in self.branches()), None)
        if self.choices is not None:
            return self.choices[0] if self.choices else None
        return {"INT": 0, "FLOAT": 0, "STRING": "", "BOOLEAN": False}.get(self.type)

    def branches(self) -> Iterator[tuple[str, tuple["InputDefinition", ...]]]:
        """Of a dynamic combo: each choice with the inputs that it brings, named after it with a dot."""
        for option in self.options.get("options") or ():
            if isinstance(option, Mapping) and isinstance(option.get("key"), str):
                yield option["key"], tuple(_read_inputs(option.get("inputs"), None, prefix=f"{self.name}."))


@dataclass(frozen=True, slots=True)
class NodeDefinition:
    class_type: str
    title: str
    inputs: tuple[InputDefinition, ...]
    outputs: tuple[str, ...]
    is_output: bool

    @property
    def widgets(self) -> tuple[InputDefinition, ...]:
        return tuple(each for each in self.inputs if each.is_widget)

    @property
    def slots(self) -> tuple[InputDefinition, ...]:
        """In the interface's order: sockets first, then the widgets, each of which can take a link too."""
        return tuple(sorted(self.inputs, key=lambda each: each.is_widget))


def find_definition(object_info: ObjectInfo, class_type: str) -> NodeDefinition | None:
    found = object_info.get(class_type)
    if not isinstance(found, Mapping):
        return None
    outputs = found.get("output")
    return NodeDefinition(
        class_type=class_type,
        title=str(found.get("display_name") or class_type),
        inputs=tuple(_read_inputs(found.get("input"), found.get("input_order"))),
        outputs=tuple(_type_name(each) for each in outputs) if isinstance(outputs, list) else (),
        is_output=found.get("output_node") is True,
    )


def _read_inputs(groups: Any, order: Any, *, prefix: str = "") -> Iterator[InputDefinition]:
    if not isinstance(groups, Mapping):
        return
    for group in ("required", "optional"):
        inputs = groups.get(group)
        if not isinstance(inputs, Mapping):
            continue
        ordered = order.get(group) if isinstance(order, Mapping) else None
        first = [name for name in ordered if name in inputs] if isinstance(ordered, list) else []
        for name in [*first, *(name for name in inputs if name not in first)]:
            yield _read_input(f"{prefix}{name}", inputs[name], required=group == "required")


def _read_input(name: str, spec: Any, *, required: bool) -> InputDefinition:
    if not isinstance(spec, (list, tuple)) or not spec:
        return InputDefinition(name, "*", required)
    options = spec[1] if len(spec) > 1 and isinstance(spec[1], Mapping) else {}
    type_name = _type_name(spec[0])
    choices = spec[0] if isinstance(spec[0], list) else options.get("options")
    is_combo = type_name == "COMBO"
    return InputDefinition(
        name, type_name, required, options, tuple(choices) if is_combo and isinstance(choices, list) else None
    )


def _type_name(given: Any) -> str:
    """Older classes write a list of choices where the type stands."""
    return "COMBO" if isinstance(given, list) else str(given)
