"""The seeds' eight CloudWatch metrics, read of the central database: alarms made for the seeds go on working."""

from comfyfleet.gauges.cloudwatch.model import MetricPoint, in_batches, points_of
from comfyfleet.gauges.cloudwatch.read import read_fleets

__all__ = ["MetricPoint", "in_batches", "points_of", "read_fleets"]
