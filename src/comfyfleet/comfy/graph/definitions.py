"""What a server says of its node classes (GET /object_info), read once into values."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

ObjectInfo: TypeAlias = Mapping[str, Any]

DYNAMIC_COMBO = "COMFY_DYNAMICCOMBO_V3"
UPLOADS = ("image_upload", "video_upload", "audio_upload", "animated_image_upload", "model_upload")
AUTOGROW = "COMFY_AUTOGROW_V3"
MATCH_TYPE = "COMFY_MATCHTYPE_V3"
# Inputs of these types are drawn on the node. Those of the last three lines come from extensions of the interface.
WIDGET_TYPES = frozenset(
    [
        *("BOOLEAN", "COMBO", DYNAMIC_COMBO, "FLOAT", "INT", "MARKDOWN", "STRING", "TEXTAREA"),
        *("BOUNDING_BOX", "BOUNDING_BOXES", "CHART", "COLOR", "COLORS", "COMPOSITOR", "CURVE", "GALLERIA"),
        *("IMAGECOMPARE", "PAINTER", "RANGE", "VIDEO_EDIT"),
        *("IMAGEUPLOAD", "AUDIOUPLOAD", "AUDIO_UI"),
        *("AUDIO_RECORD", "WEBCAM"),
        *("LOAD_3D", "LOAD_3D_ADVANCED", "PREVIEW_3D"),
    ]
)
DEFAULTS: Mapping[str, Any] = {
    **dict.fromkeys(("INT", "FLOAT"), 0),
    **dict.fromkeys(("STRING", "MARKDOWN", "TEXTAREA", "PAINTER", "PREVIEW_3D"), ""),
    **{name: [] for name in ("BOUNDING_BOXES", "COLORS", "GALLERIA")},
    **{name: {} for name in ("CHART", "COMPOSITOR")},
    "BOOLEAN": False,
    "BOUNDING_BOX": {"x": 0, "y": 0, "width": 512, "height": 512},
    "COLOR": "#000000",
    "CURVE": {"points": [[0, 0], [1, 1]], "interpolation": "monotone_cubic"},
    "IMAGECOMPARE": ["", ""],
    "RANGE": {"min": 0.0, "max": 1.0},
}
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
        return not self.options.get("forceInput") and self.widget_type in WIDGET_TYPES

    @property
    def widget_type(self) -> str:
        """A class may name a widget for an input that takes links of other types."""
        named = self.options.get("widgetType")
        return named if isinstance(named, str) else self.type

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
        return self.widget_type == "INT" and self.name in SEED_NAMES if declared is None else bool(declared)

    @property
    def default(self) -> Any:
        """As the interface fills in what a file does not hold."""
        declared = self.options.get("default")
        if self.widget_type == DYNAMIC_COMBO:
            return next((key for key, _ in self.branches()), None)
        if self.choices is not None:
            return declared or (self.choices[0] if self.choices else None)
        return DEFAULTS.get(self.widget_type) if declared is None else declared

    def number(self, option: str, default: float) -> float:
        found = self.options.get(option)
        return found if isinstance(found, (int, float)) and not isinstance(found, bool) else default

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
    is_core: bool = True  # part of ComfyUI itself: no code of a custom node changes what the interface sends
    is_ordered: bool = False  # says in which order its inputs stand

    @property
    def widgets(self) -> tuple[InputDefinition, ...]:
        return tuple(each for each in self.inputs if each.is_widget)

    def widget_type_of(self, name: str) -> str:
        return next((each.widget_type for each in self.inputs if each.name == name), "")

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
        is_core=not str(found.get("python_module", "")).startswith("custom_nodes"),
        is_ordered=isinstance(found.get("input_order"), Mapping),
    )


def _read_inputs(groups: Any, order: Any, *, prefix: str = "") -> Iterator[InputDefinition]:
    if not isinstance(groups, Mapping):
        return
    for group in ("required", "optional"):
        inputs = groups.get(group)
        if not isinstance(inputs, Mapping):
            continue
        ordered = order.get(group) if isinstance(order, Mapping) else None
        told = [name for name in ordered if isinstance(name, str)] if isinstance(ordered, list) else []
        for name in dict.fromkeys([*(name for name in told if name in inputs), *inputs]):
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
