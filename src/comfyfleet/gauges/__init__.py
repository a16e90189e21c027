"""Gauges that are read from the databases and from this process when Prometheus asks."""

from comfyfleet.gauges.collect import GaugeCollector
from comfyfleet.gauges.port import MetricsPort, MetricsPortTaken, PortRules
from comfyfleet.gauges.read import HOLDS_S, GaugeReader, PoolReading, Reading

__all__ = [
    "HOLDS_S",
    "GaugeCollector",
    "GaugeReader",
    "MetricsPort",
    "MetricsPortTaken",
    "PoolReading",
    "PortRules",
    "Reading",
]
