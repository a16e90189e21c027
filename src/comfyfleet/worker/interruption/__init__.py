"""What tells a worker to leave: signals, a Spot notice, a rebalance recommendation, the operator."""

from comfyfleet.worker.interruption.machine import Ec2Machine, find_machine
from comfyfleet.worker.interruption.metadata import Metadata
from comfyfleet.worker.interruption.model import OPERATOR_DRAIN, Notice
from comfyfleet.worker.interruption.scale_in import ScaleInProtection, find_protection
from comfyfleet.worker.interruption.signals import Signals
from comfyfleet.worker.interruption.spot import SpotWatch

__all__ = [
    "OPERATOR_DRAIN",
    "Ec2Machine",
    "Metadata",
    "Notice",
    "ScaleInProtection",
    "Signals",
    "SpotWatch",
    "find_machine",
    "find_protection",
]
