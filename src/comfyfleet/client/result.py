"""What `run` gives back."""

from collections.abc import Sequence
from dataclasses import dataclass

from comfyfleet.client.model import Job, Output


@dataclass(frozen=True)
class Made:
    """A job that completed, and what it made."""

    job: Job

    @property
    def outputs(self) -> Sequence[Output]:
        return self.job.outputs

    @property
    def primary(self) -> Output | None:
        return self.job.primary
