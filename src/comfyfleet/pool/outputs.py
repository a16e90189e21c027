"""Output files: fetched into a folder of the caller's, under names that a server cannot choose freely."""

import asyncio
import re
from pathlib import Path, PurePosixPath

from comfyfleet.comfy.connector import Connector
from comfyfleet.comfy.model import FetchedFile, OutputFile
from comfyfleet.kernel.backoff import backoff_s
from comfyfleet.kernel.errors import Unavailable

TRIES_MAX = 3
NAME_CHARS_MAX = 120
_UNSAFE = re.compile(r"[^\w.() \-]+")


async def fetch_outputs(connector: Connector, outputs: tuple[OutputFile, ...], folder: Path) -> tuple[FetchedFile, ...]:
    """One after the other, in their order. Raises what the last try raised: then nothing counts as fetched."""
    await asyncio.to_thread(folder.mkdir, parents=True, exist_ok=True)
    paths = place_files(outputs, folder)
    return tuple([await _fetch(connector, output, path) for output, path in zip(outputs, paths, strict=True)])


async def _fetch(connector: Connector, output: OutputFile, path: Path) -> FetchedFile:
    for tried in range(1, TRIES_MAX):
        try:
            return await connector.fetch(output, path)
        except Unavailable:
            await asyncio.sleep(backoff_s(tried, chance=1.0, base_s=0.5))
    return await connector.fetch(output, path)


def place_files(outputs: tuple[OutputFile, ...], folder: Path) -> list[Path]:
    """One path each, all within the folder, no two alike, whatever the server calls them."""
    taken: set[str] = set()
    return [folder / _free_name(_safe_name(output), taken) for output in outputs]


def _safe_name(output: OutputFile) -> str:
    name = _UNSAFE.sub("_", PurePosixPath(output.filename.replace("\\", "/")).name).strip(". ")
    suffix = PurePosixPath(name).suffix[:16]
    stem = name.removesuffix(suffix)[: NAME_CHARS_MAX - len(suffix)]
    return f"{stem}{suffix}" if stem else f"{output.node}-{output.key}-{output.index}{suffix}"


def _free_name(name: str, taken: set[str]) -> str:
    path = PurePosixPath(name)
    number = 1
    # Names that differ in case only are one file on some disks.
    while name.lower() in taken:
        number += 1
        name = f"{path.stem}-{number}{path.suffix}"
    taken.add(name.lower())
    return name
