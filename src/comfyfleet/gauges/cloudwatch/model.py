"""What the eight metrics say of a fleet. Pure.

As the seeds define them, and where they leave a case open: BacklogPerInstance divides by at least one worker, so that
an alarm sees a backlog at zero; JobProcessingP50 has no point while no job has completed.
"""

import statistics
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, NamedTuple

NAMESPACE = "ComfyUI/Workers"
POINTS_A_CALL = 1_000
BYTES_A_CALL = 900_000
# Of one point as it is sent, without its names.
POINT_BYTES = 500


@dataclass(slots=True)
class FleetLoad:
    """One fleet, counted. `took_s`: of jobs that completed lately."""

    slug: str
    stage: str
    queued: int = 0
    leased: int = 0
    active_workers: int = 0
    free_slots: int = 0
    completed: int = 0
    failed: int = 0
    expired: int = 0
    taken_by_spot: int = 0
    took_s: list[float] = field(default_factory=list)


class MetricPoint(NamedTuple):
    name: str
    slug: str
    stage: str
    value: float
    unit: str

    def sent(self, at: datetime) -> dict[str, Any]:
        """As PutMetricData takes it."""
        dimensions = [{"Name": "FleetSlug", "Value": self.slug}, {"Name": "Stage", "Value": self.stage}]
        return {
            "MetricName": self.name,
            "Dimensions": dimensions,
            "Timestamp": at,
            "Value": self.value,
            "Unit": self.unit,
            "StorageResolution": 60,
        }


def points_of(loads: Iterable[FleetLoad]) -> list[MetricPoint]:
    return [point for each in loads for point in _points(each)]


def in_batches(points: Sequence[MetricPoint]) -> Iterator[list[MetricPoint]]:
    """As much as one call takes."""
    batch: list[MetricPoint] = []
    size = 0
    for each in points:
        adds = POINT_BYTES + len(each.slug) + len(each.stage)
        if batch and (len(batch) == POINTS_A_CALL or size + adds > BYTES_A_CALL):
            yield batch
            batch, size = [], 0
        batch.append(each)
        size += adds
    if batch:
        yield batch


def _points(load: FleetLoad) -> Iterator[MetricPoint]:
    depth, ended = load.queued + load.leased, load.completed + load.failed
    yield MetricPoint("QueueDepth", load.slug, load.stage, depth, "Count")
    yield MetricPoint("BacklogPerInstance", load.slug, load.stage, depth / max(1, load.active_workers), "Count")
    yield MetricPoint("ActiveWorkers", load.slug, load.stage, load.active_workers, "Count")
    yield MetricPoint("AvailableCapacity", load.slug, load.stage, load.free_slots, "Count")
    if load.took_s:
        yield MetricPoint("JobProcessingP50", load.slug, load.stage, statistics.median(load.took_s), "Seconds")
    yield MetricPoint("ErrorRate", load.slug, load.stage, 100.0 * load.failed / ended if ended else 0.0, "Percent")
    yield MetricPoint("LeaseExpiredCount", load.slug, load.stage, load.expired, "Count")
    yield MetricPoint("SpotInterruptionCount", load.slug, load.stage, load.taken_by_spot, "Count")
