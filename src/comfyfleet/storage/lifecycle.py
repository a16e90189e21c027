"""What may happen to a file: announced, then stored, and at any time deleted."""

from enum import StrEnum

from comfyfleet.kernel.lifecycle import Lifecycle


class FileStatus(StrEnum):
    PENDING = "pending"
    STORED = "stored"
    DELETED = "deleted"


class FileEvent(StrEnum):
    STORE = "store"
    DELETE = "delete"


FILE = Lifecycle(
    "file",
    initial=FileStatus.PENDING,
    moves={
        (FileStatus.PENDING, FileEvent.STORE): FileStatus.STORED,
        (FileStatus.PENDING, FileEvent.DELETE): FileStatus.DELETED,
        (FileStatus.STORED, FileEvent.DELETE): FileStatus.DELETED,
    },
)
