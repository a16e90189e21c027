"""Is there room for one more job on this machine? Work that would fill the disk or the memory is not taken."""

import asyncio
import shutil
from dataclasses import dataclass
from pathlib import Path

from comfyfleet.worker.assets import AssetCache

GIB = 1024**3
MEMINFO = Path("/proc/meminfo")
CGROUP = Path("/sys/fs/cgroup")


@dataclass(frozen=True, slots=True)
class RoomLimits:
    """What must stay free. ComfyUI saves its results on the same disk, more often than not."""

    disk_free_bytes_min: int = 2 * GIB
    memory_free_bytes_min: int = GIB // 4


@dataclass(frozen=True, slots=True)
class Room:
    disk_free_bytes: int
    memory_free_bytes: int | None  # None: the system does not tell


def look_around(folder: Path, *, meminfo: Path = MEMINFO, cgroup: Path = CGROUP) -> Room:
    """Blocks for a moment."""
    told = [_free_memory(meminfo), _free_in_group(cgroup)]
    known = [free for free in told if free is not None]
    return Room(shutil.disk_usage(folder).free, min(known, default=None))


def lacks(room: Room, limits: RoomLimits, *, wanted_bytes: int = 0) -> str | None:
    """Why not to take another job now; None: there is room. Pure."""
    if missing_on_disk(room, limits, wanted_bytes=wanted_bytes):
        return (
            f"the disk has {room.disk_free_bytes / GIB:.1f} GiB free; "
            f"{(limits.disk_free_bytes_min + wanted_bytes) / GIB:.1f} GiB are needed"
        )
    if room.memory_free_bytes is not None and room.memory_free_bytes < limits.memory_free_bytes_min:
        return (
            f"{room.memory_free_bytes / GIB:.1f} GiB of memory are free; "
            f"{limits.memory_free_bytes_min / GIB:.1f} GiB are needed"
        )
    return None


def missing_on_disk(room: Room, limits: RoomLimits, *, wanted_bytes: int = 0) -> int:
    return max(0, limits.disk_free_bytes_min + wanted_bytes - room.disk_free_bytes)


async def make_room(folder: Path, cache: AssetCache, limits: RoomLimits, *, wanted_bytes: int = 0) -> str | None:
    """As `lacks`, after kept assets have made way: they can be fetched again, a job that waits cannot."""
    room = await asyncio.to_thread(look_around, folder)
    if missing := missing_on_disk(room, limits, wanted_bytes=wanted_bytes):
        await cache.shrink(max(0, cache.size_bytes - missing))
        room = await asyncio.to_thread(look_around, folder)
    return lacks(room, limits, wanted_bytes=wanted_bytes)


def _free_memory(meminfo: Path) -> int | None:
    told = _read_numbers(meminfo).get("MemAvailable:")
    return None if told is None else told * 1024


def _free_in_group(cgroup: Path) -> int | None:
    """Of a container with a limit. What the system keeps of files it gives up when it must."""
    try:
        limit = (cgroup / "memory.max").read_text().strip()
        used = int((cgroup / "memory.current").read_text())
    except (OSError, ValueError):
        return None
    if not limit.isdecimal():
        return None
    told = _read_numbers(cgroup / "memory.stat")
    return int(limit) - used + told.get("inactive_file", 0) + told.get("active_file", 0)


def _read_numbers(path: Path) -> dict[str, int]:
    try:
        lines = path.read_text().splitlines()
    except OSError:
        return {}
    words = [line.split() for line in lines]
    return {each[0]: int(each[1]) for each in words if len(each) > 1 and each[1].isdecimal()}
