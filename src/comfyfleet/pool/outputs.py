"""Output files: fetched into a folder of the caller's, under names that a server cannot choose freely."""

import asyncio
import re
from pathlib import Path, PurePosixPath

from comfyfleet.comfy.connector import Connector
from comfyfleet.comfy.errors import AnswerTooLarge
from comfyfleet.comfy.model import FetchedFile, OutputFile
from comfyfleet.kernel.backoff import backoff_s
from comfyfleet.kernel.errors import Unavailable

TRIES_MAX = 3
NAME_CHARS_MAX = 120
RESERVED = "manifest.json"  # whoever saves the files describes them there
_UNSAFE = re.compile(r"[^\w.() \-]+")


async def fetch_outputs(connector: Connector, outputs: tuple[OutputFile, ...], folder: Path) -> tuple[FetchedFile, ...]:
    """One after the other, in their order. Raises what the last try raised: then nothing is left behind."""
    await asyncio.to_thread(folder.mkdir, parents=True, exist_ok=True)
    paths = place_files(outputs, folder)
    fetched: list[FetchedFile] = []
    try:
        for output, path in zip(outputs, paths, strict=True):
            fetched.append(await _fetch(connector, output, path))
    except BaseException:
        for file in fetched:
            file.path.unlink(missing_ok=True)
        raise
    return tuple(fetched)


async def _fetch(connector: Connector, output: OutputFile, path: Path) -> FetchedFile:
    for tried in range(1, TRIES_MAX):
        try:
            return await connector.fetch(output, path)
        except AnswerTooLarge:
            raise
        except Unavailable:
            await asyncio.sleep(backoff_s(tried, chance=1.0, base_s=0.5))
    return await connector.fetch(output, path)


def place_files(outputs: tuple[OutputFile, ...], folder: Path) -> list[Path]:
    """One path each, all within the folder, no two alike, whatever the server calls them. What is there stays: every
    server counts its files from 1, so the next run's names are often the last one's."""
    taken = {RESERVED, *(each.name.lower() for each in folder.iterdir())} if folder.is_dir() else {RESERVED}
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
