"""Block state in a file: written whole or not at all, read without trust."""

import json
import os
from pathlib import Path
from typing import Any

import structlog

log = structlog.get_logger()

VERSION = 1
READ_BYTES_MAX = 64 * 1024 * 1024


def read_blocks(path: Path) -> dict[str, Any]:
    """What `write_blocks` left there; nothing when there is no file. One that cannot be read is put aside."""
    try:
        with path.open("rb") as opened:
            kept = json.loads(opened.read(READ_BYTES_MAX))
    except FileNotFoundError:
        return {}
    except ValueError:
        return _put_aside(path, "not JSON")
    if not isinstance(kept, dict) or kept.get("version") != VERSION or not isinstance(kept.get("blocks"), dict):
        return _put_aside(path, "another shape")
    blocks: dict[str, Any] = kept["blocks"]
    return blocks


def write_blocks(path: Path, blocks: dict[str, Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(f".{path.name}.{os.getpid()}.new")
    try:
        with beside.open("w", encoding="utf-8") as opened:
            json.dump({"version": VERSION, "blocks": blocks}, opened)
            opened.flush()
            os.fsync(opened.fileno())
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)


def _put_aside(path: Path, problem: str) -> dict[str, Any]:
    aside = path.with_name(f"{path.name}.unreadable")
    path.replace(aside)
    log.warning("pool.blocks_unreadable", path=str(path), put_aside_as=str(aside), problem=problem)
    return {}
