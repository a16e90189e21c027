"""Values by hand, and values to look at."""

import json
import sys

from comfyfleet.engine.node import Context, Inputs, Made, Node, Output
from comfyfleet.engine.nodes.specs import text


class PrimitiveNode(Node):
    """Gives back what it was given."""

    category = "utilities/primitive"
    python_module = "comfy_extras.nodes_primitive"
    newer_schema = True

    def run(self, inputs: Inputs, context: Context) -> Made:
        return Made(inputs["value"])


class PrimitiveInt(PrimitiveNode):
    display_name = "Int"
    required = {"value": ("INT", {"min": -sys.maxsize, "max": sys.maxsize, "control_after_generate": "fixed"})}
    outputs = (Output("INT"),)


class PrimitiveFloat(PrimitiveNode):
    display_name = "Float"
    required = {"value": ("FLOAT", {"min": -sys.maxsize, "max": sys.maxsize, "step": 0.1})}
    outputs = (Output("FLOAT"),)


class PrimitiveString(PrimitiveNode):
    display_name = "Text"
    search_aliases = ("text", "string", "text box", "prompt")
    required = {"value": text()}
    outputs = (Output("STRING"),)


class PrimitiveStringMultiline(PrimitiveNode):
    display_name = "Text (Multiline)"
    extra_facts = {"essentials_category": "Basics"}
    required = {"value": text(multiline=True)}
    outputs = (Output("STRING"),)


class PrimitiveBoolean(PrimitiveNode):
    display_name = "Boolean"
    required = {"value": ("BOOLEAN", {})}
    outputs = (Output("BOOLEAN"),)


class PreviewAny(Node):
    display_name = "Preview as Text"
    category = "utilities"
    description = "Preview any input value as text."
    python_module = "comfy_extras.nodes_preview_any"
    search_aliases = ("show output", "inspect", "debug", "print value", "show text")
    required = {"source": ("*", {})}
    outputs = (Output("STRING"),)
    output_node = True

    def run(self, inputs: Inputs, context: Context) -> Made:
        shown = _as_text(inputs["source"])
        return Made(shown, ui={"text": [shown]})


def _as_text(value: object) -> str:
    if isinstance(value, str):
        return value
    if value is None or isinstance(value, bool | int | float):
        return str(value)
    try:
        return json.dumps(value, indent=4)
    except (TypeError, ValueError):
        return str(value)
