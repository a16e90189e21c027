"""Text in, text out."""

from comfyfleet.engine.node import Context, Inputs, Made, Node, Output
from comfyfleet.engine.nodes.specs import choice, text, toggle

LONGEST_TEXT_CHARS = 10_000_000


class TextNode(Node):
    category = "text"
    python_module = "comfy_extras.nodes_string"
    newer_schema = True
    outputs = (Output("STRING"),)


class StringConcatenate(TextNode):
    display_name = "Concatenate Text"
    search_aliases = (
        *("concatenate", "text concat", "join text", "merge text", "combine strings", "string concat", "append text"),
        "combine text",
    )
    required = {"string_a": text(multiline=True), "string_b": text(multiline=True), "delimiter": text("")}

    def run(self, inputs: Inputs, context: Context) -> Made:
        return Made(bounded(inputs["delimiter"].join((inputs["string_a"], inputs["string_b"]))))


class StringReplace(TextNode):
    display_name = "Replace Text"
    search_aliases = ("replace", "find and replace", "substitute", "swap text")
    required = {"string": text(multiline=True), "find": text(multiline=True), "replace": text(multiline=True)}

    def run(self, inputs: Inputs, context: Context) -> Made:
        string, find, replace = inputs["string"], inputs["find"], inputs["replace"]
        more_each = len(replace) - len(find)
        if len(string) + string.count(find) * max(0, more_each) > LONGEST_TEXT_CHARS:
            raise ValueError(f"The text would be longer than {LONGEST_TEXT_CHARS} characters.")
        return Made(string.replace(find, replace))


class CaseConverter(TextNode):
    display_name = "Convert Text Case"
    search_aliases = ("case converter", "text case", "uppercase", "lowercase", "capitalize")
    required = {
        "string": text(multiline=True),
        "mode": choice("UPPERCASE", "lowercase", "Capitalize", "Title Case"),
    }

    def run(self, inputs: Inputs, context: Context) -> Made:
        change = {
            "UPPERCASE": str.upper,
            "lowercase": str.lower,
            "Capitalize": str.capitalize,
            "Title Case": str.title,
        }[inputs["mode"]]
        return Made(change(inputs["string"]))


class StringTrim(TextNode):
    display_name = "Trim Text"
    search_aliases = ("trim", "clean whitespace", "remove whitespace", "remove spaces", "strip")
    required = {"string": text(multiline=True), "mode": choice("Both", "Left", "Right")}

    def run(self, inputs: Inputs, context: Context) -> Made:
        trim = {"Both": str.strip, "Left": str.lstrip, "Right": str.rstrip}[inputs["mode"]]
        return Made(trim(inputs["string"]))


class StringLength(TextNode):
    display_name = "Text Length"
    search_aliases = ("character count", "text size", "string length")
    required = {"string": text(multiline=True)}
    outputs = (Output("INT", "length"),)

    def run(self, inputs: Inputs, context: Context) -> Made:
        return Made(len(inputs["string"]))


class StringContains(TextNode):
    display_name = "Contains Text"
    search_aliases = ("contains", "text includes", "string includes")
    required = {
        "string": text(multiline=True),
        "substring": text(multiline=True),
        "case_sensitive": toggle(True, advanced=True),
    }
    outputs = (Output("BOOLEAN", "contains"),)

    def run(self, inputs: Inputs, context: Context) -> Made:
        string, part = inputs["string"], inputs["substring"]
        if not inputs["case_sensitive"]:
            string, part = string.lower(), part.lower()
        return Made(part in string)


def bounded(made: str) -> str:
    if len(made) > LONGEST_TEXT_CHARS:
        raise ValueError(f"The text would be longer than {LONGEST_TEXT_CHARS} characters.")
    return made
