"""Keep what is uploaded: under its own name if that is free or holds the same bytes, else under the next free one."""

import filecmp
import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from comfyfleet.engine.folders import Folders, OutsideFolder, split_annotation


@dataclass(frozen=True, slots=True)
class Stored:
    name: str
    subfolder: str
    type: str


def store(
    folders: Folders,
    source: Any,
    *,
    filename: str,
    subfolder: str,
    kind: str,
    overwrite: bool,
    save: Callable[[Any, Path], None] | None = None,
) -> Stored:
    """Raises OutsideFolder for names that lead out."""
    if folders.named(kind) is None:
        raise ValueError(f"no such folder: {kind}")
    target = folders.within(kind, os.path.normpath(subfolder), filename)
    folder = folders.within(kind, os.path.normpath(subfolder))
    if not filename or target == folder:
        raise OutsideFolder(filename)
    folder.mkdir(parents=True, exist_ok=True)
    stem, extension = os.path.splitext(filename)
    kept, count = filename, 0
    while not overwrite and target.exists():
        if _same_bytes(target, source):
            return Stored(kept, subfolder, kind)
        count += 1
        kept = f"{stem} ({count}){extension}"
        target = folders.within(kind, os.path.normpath(subfolder), kept)
    source.seek(0)
    (save or _copy)(source, target)
    return Stored(kept, subfolder, kind)


def _copy(source: Any, target: Path) -> None:
    with target.open("wb") as written:
        shutil.copyfileobj(source, written)


def _same_bytes(target: Path, source: Any) -> bool:
    if target.stat().st_size != source.seek(0, os.SEEK_END):
        return False
    source.seek(0)
    with target.open("rb") as known:
        while piece := known.read(filecmp.BUFSIZE):
            if piece != source.read(len(piece)):
                return False
    return True


def mask_saver(folders: Folders, original_ref: dict[str, Any]) -> Callable[[Any, Path], None]:
    """Put the alpha of the upload onto the picture it was drawn for. An original that is not there: nothing is kept."""

    def save(source: Any, target: Path) -> None:
        from PIL import Image
        from PIL.PngImagePlugin import PngInfo

        name, kind = split_annotation(original_ref["filename"])
        kind = kind or original_ref.get("type", "output")
        original = folders.within(kind, original_ref.get("subfolder") or "", name)
        if not original.is_file():
            return
        texts = PngInfo()
        with Image.open(original) as opened, Image.open(source) as drawn:
            for key, value in getattr(opened, "text", {}).items():
                texts.add_text(key, value)
            picture = opened.convert("RGBA")
            picture.putalpha(drawn.convert("RGBA").getchannel("A"))
        picture.save(target, "PNG", compress_level=4, pnginfo=texts)

    return save
