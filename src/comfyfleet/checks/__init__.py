"""What must hold, asked of the running system: the audit chains and the invariants. Reads only."""

from comfyfleet.checks.chains import ChainReport, ChainsReport, verify_chains, watch_chains
from comfyfleet.checks.checkpoints import latest_checkpoint, take_checkpoint
from comfyfleet.checks.everything import check_everything
from comfyfleet.checks.invariants import CENTRAL, POOL, QUEUE, check_invariants
from comfyfleet.checks.model import Finding

__all__ = [
    "CENTRAL",
    "POOL",
    "QUEUE",
    "ChainReport",
    "ChainsReport",
    "Finding",
    "check_everything",
    "check_invariants",
    "latest_checkpoint",
    "take_checkpoint",
    "verify_chains",
    "watch_chains",
]
