"""Upkeep: what no request does. Every loop may run in any number of replicas, and be killed at any instant."""

from comfyfleet.upkeep import apply_settlements
from comfyfleet.upkeep.elsewhere import Elsewhere
from comfyfleet.upkeep.loop import Loop, Upkeep
from comfyfleet.upkeep.report_replica import ReplicaReporter
from comfyfleet.upkeep.rules import UpkeepRules
from comfyfleet.upkeep.run import loops_of, own_loops

__all__ = [
    "Elsewhere",
    "Loop",
    "ReplicaReporter",
    "Upkeep",
    "UpkeepRules",
    "apply_settlements",
    "loops_of",
    "own_loops",
]
