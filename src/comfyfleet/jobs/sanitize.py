"""What of a worker's error a user may read. The full text stays with the dispatch, for operators."""

import json
import re
from typing import Any

FALLBACK = "Processing failed."
MESSAGE_CHARS_MAX = 500
FIELDS = ("exception_message", "error_message")

# JSON that stands in the middle of other text, or was cut off.
_INSIDE = re.compile(r'"(?:exception_message|error_message)"\s*:\s*("(?:[^"\\]|\\.){1,4000}")')
_TRACEBACK = "Traceback (most recent call last)"


def sanitize_worker_error(text: str | None) -> str:
    """The message inside JSON if there is one, else the first line, else a sentence that says nothing wrong."""
    found = _message_in(text or "")
    line = next((line.strip() for line in found.splitlines() if line.strip()), "")
    printable = "".join(character for character in line if character.isprintable())
    return printable[:MESSAGE_CHARS_MAX] or FALLBACK


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
