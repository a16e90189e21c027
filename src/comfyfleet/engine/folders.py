"""The three folders of a ComfyUI: what came in, what was made, what may be thrown away. Nothing leaves them."""

import os
import re
import time
from dataclasses import dataclass
from pathlib import Path

_ANNOTATION = re.compile(r"^(?P<name>.*) ?\[(?P<kind>input|output|temp)\]$")


class OutsideFolder(Exception):
    """A name that leads out of its folder."""


@dataclass(frozen=True, slots=True)
class SavePlace:
    """Where the next file of a prefix goes: `folder / f"{stem}_{counter:05}_.png"`."""

    folder: Path
    stem: str
    counter: int
    subfolder: str

    def name(self, extension: str, *, offset: int = 0) -> str:
        return f"{self.stem}_{self.counter + offset:05}_.{extension}"


@dataclass(frozen=True, slots=True)
class Folders:
    root: Path

    @property
    def input(self) -> Path:
        return self.root / "input"

    @property
    def output(self) -> Path:
        return self.root / "output"

    @property
    def temp(self) -> Path:
        return self.root / "temp"

    def named(self, kind: str) -> Path | None:
        return {"input": self.input, "output": self.output, "temp": self.temp}.get(kind)

    def make(self) -> None:
        for folder in (self.input, self.output, self.temp):
            folder.mkdir(parents=True, exist_ok=True)

    def within(self, kind: str, *parts: str) -> Path:
        """A path in one of the folders; links and dots are followed first, so that none leads out."""
        folder = getattr(self, kind).resolve()
        path: Path = folder.joinpath(*parts).resolve()
        if not path.is_relative_to(folder):
            raise OutsideFolder(f"{os.path.join(*parts)!r} is not inside the {kind} folder")
        return path

    def find_upload(self, name: str) -> Path:
        """The file that LoadImage and its like mean: `cat.png`, `pets/cat.png`, `cat.png [output]`."""
        name, kind = split_annotation(name)
        return self.within(kind or "input", name)

    def upload_names(self, suffixes: tuple[str, ...] | None = None) -> list[str]:
        """The files at the root of the input folder, as the choices of LoadImage."""
        with os.scandir(self.input) as entries:
            names = [entry.name for entry in entries if entry.is_file()]
        return sorted(name for name in names if suffixes is None or name.lower().endswith(suffixes))

    def place_for(self, prefix: str, *, kind: str = "output", width: int = 0, height: int = 0) -> SavePlace:
        """The next free number of a filename prefix; its placeholders filled in, its subfolder made."""
        base: Path = getattr(self, kind).resolve()
        filled = os.path.normpath(_fill_in(prefix, width, height))
        subfolder, stem = os.path.split(filled)
        folder = Path(os.path.abspath(base / subfolder))
        if not folder.is_relative_to(base) or not folder.resolve().is_relative_to(base):
            raise Exception(  # bare, as ComfyUI does: clients see the class
                "**** ERROR: Saving image outside the output folder is not allowed."
                f"\n full_output_folder: {folder}\n         output_dir: {base}"
            )
        folder.mkdir(parents=True, exist_ok=True)
        return SavePlace(folder, stem, _highest_number(folder, stem) + 1, subfolder)


def split_annotation(name: str) -> tuple[str, str | None]:
    found = _ANNOTATION.match(name)
    return (found["name"].rstrip(), found["kind"]) if found else (name, None)


def _fill_in(prefix: str, width: int, height: int) -> str:
    if "%" not in prefix:
        return prefix
    now = time.localtime()
    words = {"width": str(width), "height": str(height), "year": str(now.tm_year)} | {
        word: f"{number:02}"
        for word, number in zip(
            ("month", "day", "hour", "minute", "second"),
            (now.tm_mon, now.tm_mday, now.tm_hour, now.tm_min, now.tm_sec),
            strict=True,
        )
    }
    for word, value in words.items():
        prefix = prefix.replace(f"%{word}%", value)
    return prefix


def _highest_number(folder: Path, stem: str) -> int:
    numbered = re.compile(re.escape(stem) + r"_(\d+)(?:_|\.|$)", re.IGNORECASE)
    found = (numbered.match(name) for name in os.listdir(folder))
    return max((int(match[1]) for match in found if match), default=0)
