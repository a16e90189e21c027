"""The audit log: what operators did, chained so that a change shows; and what workers did."""

from comfyfleet.audit.model import Action, Actor, ActorKind, ChainSigner
from comfyfleet.audit.record import record_action

__all__ = ["Action", "Actor", "ActorKind", "ChainSigner", "record_action"]
