"""Texts that the interface changes when it sends them: prompts with choices and comments, names of files with dates."""

import re

from comfyfleet.comfy.errors import Unconvertible
from comfyfleet.comfy.graph.bind import PLACEHOLDER

COMMENT = re.compile(r"/\*[\s\S]*?\*/|//[^\n\r\u2028\u2029]*")
REPLACED = re.compile(r"%([^%]+)%")
ESCAPED = re.compile(r"\\([{}|])")


def sent_prompt(text: str) -> str:
    """Comments are gone and braces are opened. A choice in braces is drawn anew for each run, hence refused.

    A placeholder of ours stays: its braces are for the values of an order.
    """
    if PLACEHOLDER.search(text):
        return text
    bare = COMMENT.sub("", text)
    return bare if "{" not in bare and "\\" not in bare else ESCAPED.sub(r"\1", _opened(bare))


def _opened(text: str) -> str:
    """Unescaped braces around a text without a choice are dropped, one level after the other."""
    made: list[str] = []
    depth = place = 0
    while place < len(text):
        sign = text[place]
        if sign == "\\":
            made.append(text[place : place + 2])
            place += 2
            continue
        if sign == "|" and depth:
            raise Unconvertible(
                "holds a choice in braces {…|…}, which the browser draws anew for each run. Write one of them, or "
                "use 'Export (API)'"
            )
        if sign == "{":
            depth += 1
        elif sign == "}" and depth:
            depth -= 1
        else:
            made.append(sign)
        place += 1
    return "".join(made)


def sent_prefix(text: str) -> str:
    for found in REPLACED.findall(text):
        if found.startswith("date:") or found.count(".") == 1:
            raise Unconvertible(
                f"holds %{found}%, which the browser writes when a run starts. Write a plain name, or use "
                "'Export (API)'"
            )
    return text
