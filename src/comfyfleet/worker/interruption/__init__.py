"""What tells a worker to leave: signals, a Spot notice, a rebalance recommendation, the operator."""

from comfyfleet.worker.interruption.model import OPERATOR_DRAIN, Notice

__all__ = ["OPERATOR_DRAIN", "Notice"]
