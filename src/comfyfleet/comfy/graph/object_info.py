"""A server's description of its node classes, saved to a file."""

import json
from pathlib import Path
from typing import Any

from comfyfleet.kernel.errors import InvalidInput

BYTES_MAX = 256 * 1024**2  # thousands of custom nodes, each with the list of every model, come to tens of megabytes


def load_object_info(source: bytes | Path) -> dict[str, Any]:
    """As GET /object_info answers."""
    if isinstance(source, Path):
        try:
            with source.open("rb") as file:
                source = file.read(BYTES_MAX + 1)
        except OSError as problem:
            raise InvalidInput("object_info", f"cannot be read ({problem.strerror})") from None
    if len(source) > BYTES_MAX:
        raise InvalidInput("object_info", f"has more than {BYTES_MAX} bytes")
    try:
        found = json.loads(source)
    except (ValueError, RecursionError):
        raise InvalidInput("object_info", "is not JSON") from None
    if not isinstance(found, dict) or not all(isinstance(each, dict) and "input" in each for each in found.values()):
        raise InvalidInput("object_info", "is not what GET /object_info answers")
    return found
