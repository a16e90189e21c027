"""What of a worker's error a user may read. The full text stays with the dispatch, for operators."""

import json
import re
from typing import Any

from comfyfleet.comfy.verdict import ReturnReason, words_of_return
from comfyfleet.dispatch.failures import FAILED_EVERYWHERE, FailureClass

FALLBACK = "Processing failed."
MESSAGE_CHARS_MAX = 500
EVERYWHERE = "It failed on every machine that could run it"
RETURN_REASONS = frozenset(each.value for each in ReturnReason)
FIELDS = ("exception_message", "error_message")

# JSON that stands in the middle of other text, or was cut off.
_INSIDE = re.compile(r'"(?:exception_message|error_message)"\s*:\s*("(?:[^"\\]|\\.){1,4000}")')
_TRACEBACK = "Traceback (most recent call last)"


def sanitize_worker_error(text: str | None) -> str:
    """The message inside JSON if there is one, else the first line, else a sentence that says nothing wrong. Codes that
    programs match on become words."""
    code, colon, rest = (text or "").partition(": ")
    if colon and code == FAILED_EVERYWHERE:
        # Where the worker said nothing, the class stands in its place.
        why = "." if rest in set(FailureClass) else f": {sanitize_worker_error(rest)}"
        return f"{EVERYWHERE}{why}"[:MESSAGE_CHARS_MAX]
    if code in RETURN_REASONS:
        return _as_sentence(words_of_return(code))
    found = _message_in(text or "")
    line = next((line.strip() for line in found.splitlines() if line.strip()), "")
    printable = "".join(character for character in line if character.isprintable())
    return printable[:MESSAGE_CHARS_MAX] or FALLBACK


def _as_sentence(words: str) -> str:
    return words[:1].upper() + words[1:]


def _message_in(text: str) -> str:
    parsed = _parse(text)
    if isinstance(parsed, dict):
        return next((value for field in FIELDS if isinstance(value := parsed.get(field), str) and value.strip()), "")
    if inside := _INSIDE.search(text):
        return str(_parse(inside.group(1)) or "")
    if text.lstrip().startswith(_TRACEBACK):
        # Its first line says nothing; its last one names the error.
        return text.rstrip().splitlines()[-1]
    return text


def _parse(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None
