"""What a candidate's file is called where people look: `{target_folder}/{step-name}/{candidate}_{timestamp}.{ext}`.

Safe on every file system: Windows knows more forbidden names than anybody else, so its rules are kept everywhere.
"""

import re
import unicodedata
from datetime import datetime

from comfyfleet.kernel.errors import InvalidInput

EXTENSIONS = {
    "image/png": "png",
    "image/jpeg": "jpg",
    "image/webp": "webp",
    "image/gif": "gif",
    "image/avif": "avif",
    "image/tiff": "tiff",
    "image/bmp": "bmp",
}
FOLDER_CHARS_MAX = 200
PART_CHARS_MAX = 80
# Windows takes a small raised digit for one, too.
RESERVED = re.compile(r"^(con|conin\$|conout\$|prn|aux|nul|(com|lpt)[0-9\u00b9\u00b2\u00b3])\s*(\..*)?$", re.IGNORECASE)
FORBIDDEN = re.compile(r'[<>:"|?*\\]')
# Nothing that cannot be seen, or that turns what follows it round: controls, marks of direction, half a character.
UNSEEN = re.compile(r"[\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff\ufffe\uffff]")


def step_slug(name: str) -> str:
    """`Face fix (2×)` → `face-fix-2x`."""
    plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode().lower()
    return re.sub(r"[^a-z0-9]+", "-", plain).strip("-")[:PART_CHARS_MAX].rstrip("-")


def check_folder(field: str, folder: str) -> str:
    """As given, with single slashes and none at the ends. Raises InvalidInput."""
    if len(folder) > FOLDER_CHARS_MAX:
        raise InvalidInput(field, f"may have {FOLDER_CHARS_MAX} characters at most")
    if folder.startswith(("/", "\\")) or re.match(r"^[A-Za-z]:", folder):
        raise InvalidInput(field, "must be relative, such as `gym-shoot/november`")
    parts = [part for part in folder.split("/") if part]
    if not parts:
        raise InvalidInput(field, "must name a folder, such as `gym-shoot`")
    for part in parts:
        _check_part(field, part)
    return "/".join(parts)


def _check_part(field: str, part: str) -> None:
    if part in (".", ".."):
        raise InvalidInput(field, f"must not contain {part!r}")
    if UNSEEN.search(part):
        raise InvalidInput(field, "holds a character that cannot be seen")
    if FORBIDDEN.search(part):
        raise InvalidInput(field, f'{part!r} contains a character that some file systems refuse (one of <>:"|?*\\)')
    if part != part.strip() or part.endswith("."):
        raise InvalidInput(field, f"{part!r} must not begin or end with a space, nor end with a dot")
    if RESERVED.match(part):
        raise InvalidInput(field, f"{part!r} is a name that Windows keeps for itself")
    if len(part.encode()) > 3 * PART_CHARS_MAX:
        raise InvalidInput(field, f"{part[:20]!r}… is too long for one folder")


def extension_of(media_type: str | None) -> str:
    return EXTENSIONS.get(media_type or "", "bin")


def file_name(folder: str, step: str, candidate: str, made_at: datetime, extension: str) -> str:
    return f"{folder}/{step}/{candidate}_{made_at:%Y%m%d%H%M%S}.{extension}"
