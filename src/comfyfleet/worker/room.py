"""Is there room for more work on this machine? Skeleton: the names stand, the work follows."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class RoomLimits:
    disk_free_bytes_min: int = 2 * 1024**3
    memory_free_bytes_min: int = 256 * 1024**2


@dataclass(frozen=True, slots=True)
class Room:
    disk_free_bytes: int
    memory_free_bytes: int | None  # None: the system does not tell


def look_around(folder: Path) -> Room:
    raise NotImplementedError


def lacks(room: Room, limits: RoomLimits, *, wanted_bytes: int = 0) -> str | None:
    """Why not to take another job now; None: there is room. Pure."""
    raise NotImplementedError
