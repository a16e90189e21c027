"""Where a ComfyUI on this machine keeps its files: below its own folder, unless it was started with other words."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import Self


@dataclass(frozen=True, slots=True)
class ServerFolders:
    input: Path
    output: Path
    temp: Path

    @classmethod
    def of(cls, comfyui_dir: Path, argv: Sequence[str] = ()) -> Self:
        """`argv`: how it was started, as `/system_stats` tells."""
        told = _told(argv)
        base = told.get("--base-directory", comfyui_dir)
        return cls(
            input=told.get("--input-directory", base / "input"),
            output=told.get("--output-directory", base / "output"),
            temp=told.get("--temp-directory", base) / "temp",
        )

    @property
    def all(self) -> tuple[Path, ...]:
        return (self.input, self.output, self.temp)


def _told(argv: Sequence[str]) -> dict[str, Path]:
    told = {}
    for word, following in zip_longest(argv, argv[1:], fillvalue=""):
        name, equals, value = word.partition("=")
        path = value if equals else following
        # A relative one is relative to where somebody started it, which nobody tells.
        if name.endswith("-directory") and Path(path).is_absolute():
            told[name] = Path(path)
    return told
