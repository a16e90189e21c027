"""What is known of a set of node classes; the definitions themselves are an object in the store."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Self

PER_WORKER_MAX = 4
IN_ALL_MAX = 200


@dataclass(frozen=True, slots=True)
class Reported:
    digest: str
    worker_id: str
    classes: int
    size_bytes: int

    @property
    def path(self) -> str:
        return definitions_path(self.digest)


@dataclass(frozen=True, slots=True)
class KnownDefinitions:
    """`worker_id`: who reported them first; `seen_at`: when a worker last said that it has them."""

    digest: str
    worker_id: str
    classes: int
    size_bytes: int
    seen_at: datetime

    @property
    def path(self) -> str:
        return definitions_path(self.digest)

    @classmethod
    def from_row(cls, row: Any) -> Self:
        return cls(row.digest, row.worker_id, row.classes, row.size_bytes, row.seen_at)


def definitions_path(digest: str) -> str:
    return f"workflows/definitions/{digest}.json.gz"
