"""What may go wrong between a worker and the object store, and how much of it is borne.

A URL is a key for whoever reads it: errors name the host, never the rest.
"""

from dataclasses import dataclass
from pathlib import Path

from comfyfleet.kernel.errors import Refused, Unavailable


class TransferFailed(Unavailable):
    """The store was away, cut the line or answered nonsense, longer than we wait."""

    code = "transfer_failed"
    text = "The object store at {host} did not {verb} the file: {problem}. Gave up after {after_s:time}."

    def __init__(self, host: str, *, verb: str, problem: str, after_s: float) -> None:
        super().__init__(host=host, verb=verb, problem=problem.rstrip("."), after_s=after_s)


class TransferRefused(Refused):
    """The store says no, and saying it again would not help."""

    code = "transfer_refused"
    text = "The object store at {host} refused to {verb} the file with {status}."

    def __init__(self, host: str, *, verb: str, status: int) -> None:
        self.status = status
        super().__init__(host=host, verb=verb, status=status)


class ContentMismatch(Refused):
    """What came is not what was announced, twice."""

    code = "content_mismatch"
    text = "The file from {host} is not the announced one: {problem}."

    def __init__(self, host: str, *, problem: str) -> None:
        super().__init__(host=host, problem=problem)


class DiskTrouble(Unavailable):
    """This machine cannot keep the file: full, or broken."""

    code = "disk_trouble"
    text = "The file cannot be kept in {folder}: {problem}."

    def __init__(self, folder: Path, error: OSError) -> None:
        super().__init__(folder=str(folder), problem=error.strerror or type(error).__name__)


@dataclass(frozen=True, slots=True)
class TransferLimits:
    connect_s: float = 10.0
    idle_s: float = 60.0  # between two chunks, and for the answer to an upload
    whole_s: float = 6 * 3600.0
    patience_s: float = 900.0  # without a byte of progress: a finished result is worth waiting for a store
    renewals_max: int = 5
    bytes_max: int = 8 * 1024**3  # of a file whose size nobody told
    base_s: float = 0.5
    ceiling_s: float = 15.0
