"""Free space where this process writes. Read when Prometheus asks."""

import shutil
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

FREE = ("comfyfleet_disk_free_bytes", "Free bytes of the file system that holds this place.")
SIZE = ("comfyfleet_disk_size_bytes", "Size in bytes of the file system that holds this place.")
FILES = ("comfyfleet_database_file_bytes", "Size in bytes of a SQLite database with its journal.")


class DiskCollector(Collector):
    """`folders` and `files` are asked at each scrape: a place may appear later."""

    def __init__(
        self, folders: Callable[[], Mapping[str, Path]], files: Callable[[], Mapping[str, Path]] | None = None
    ) -> None:
        self._folders, self._files = folders, files

    def describe(self) -> Iterator[GaugeMetricFamily]:
        for name, text in (FREE, SIZE):
            yield GaugeMetricFamily(name, text, labels=["place"])
        if self._files is not None:
            yield GaugeMetricFamily(*FILES, labels=["database"])

    def collect(self) -> Iterator[GaugeMetricFamily]:
        free, size = (GaugeMetricFamily(name, text, labels=["place"]) for name, text in (FREE, SIZE))
        for place, folder in sorted(self._folders().items()):
            if (space := disk_space(folder)) is not None:
                free.add_metric([place], space[0])
                size.add_metric([place], space[1])
        yield free
        yield size
        if self._files is not None:
            files = GaugeMetricFamily(*FILES, labels=["database"])
            for name, path in sorted(self._files().items()):
                files.add_metric([name], _size_bytes(path))
            yield files


def disk_space(folder: Path) -> tuple[int, int] | None:
    """Free and total bytes of the file system that holds it, or will."""
    at = _existing(folder)
    if at is None:
        return None
    usage = shutil.disk_usage(at)
    return usage.free, usage.total


def _existing(folder: Path) -> Path | None:
    """The folder, or the nearest one above it: what is not made yet will be made there."""
    return next((each for each in (folder, *folder.absolute().parents) if each.exists()), None)


def _size_bytes(path: Path) -> int:
    found = (path, path.with_name(f"{path.name}-wal"))
    return sum(each.stat().st_size for each in found if each.exists())
