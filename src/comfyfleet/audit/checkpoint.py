"""What is remembered of all chains, outside the databases: signed, and never written over."""

import hmac
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from comfyfleet.audit.model import ChainSigner
from comfyfleet.audit.verify import Pin

CENTRAL_POOL = ""  # no pool at all
# Which chain, in which pool.
ChainPlace = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """`id` is also the name it is kept under: an old one cannot be passed off as the newest."""

    id: UUID
    at: datetime
    heads: Mapping[ChainPlace, Pin]

    def of_pool(self, name: str) -> dict[str, Pin]:
        return {chain: pin for (pool, chain), pin in self.heads.items() if pool == name}

    def pools(self) -> set[str]:
        return {pool for pool, _ in self.heads if pool != CENTRAL_POOL}

    def to_bytes(self, signer: ChainSigner) -> bytes:
        heads = [[*place, pin.seq, pin.mac, pin.at.isoformat()] for place, pin in sorted(self.heads.items())]
        said = {"id": str(self.id), "at": self.at.isoformat(), "heads": heads}
        return json.dumps({**said, "mac": signer.checkpoint_mac(_canonical(said))}).encode()

    @staticmethod
    def from_bytes(raw: bytes, signer: ChainSigner) -> "Checkpoint | None":
        """None if it is not one of ours, to the letter."""
        try:
            said: dict[str, Any] = json.loads(raw)
            mac = said.pop("mac")
            if not hmac.compare_digest(signer.checkpoint_mac(_canonical(said)), mac):
                return None
            heads = {(row[0], row[1]): Pin(row[2], row[3], datetime.fromisoformat(row[4])) for row in said["heads"]}
            return Checkpoint(UUID(said["id"]), datetime.fromisoformat(said["at"]), heads)
        except (ValueError, TypeError, KeyError, IndexError, AttributeError, RecursionError):
            return None


def follow(
    before: Mapping[ChainPlace, Pin], found: Mapping[ChainPlace, Pin], *, lost: Iterable[ChainPlace]
) -> dict[ChainPlace, Pin]:
    """The heads to remember next.

    A chain that no longer holds what was remembered of it (`lost`), or was not found at all, keeps the old pin:
    whoever cut it short must not have the cut confirmed by the next checkpoint.
    """
    kept = {place: before[place] for place in {*lost, *(before.keys() - found.keys())}}
    return {**found, **kept}


def says_the_same(one: Mapping[ChainPlace, Pin], other: Mapping[ChainPlace, Pin]) -> bool:
    """Whenever it was looked at."""
    return {place: (pin.seq, pin.mac) for place, pin in one.items()} == {
        place: (pin.seq, pin.mac) for place, pin in other.items()
    }


def _canonical(said: dict[str, Any]) -> str:
    return json.dumps(said, sort_keys=True, separators=(",", ":"))
