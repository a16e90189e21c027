"""Does a chain hold? Pure: its rows go in by their order, and the first that does not fit comes out."""

import hmac
from dataclasses import dataclass
from datetime import datetime

from comfyfleet.audit.model import FIRST_MAC, ChainSigner, Entry


@dataclass(frozen=True, slots=True)
class Pin:
    """What somebody remembers of a chain: the head beside it, or a checkpoint far away."""

    seq: int
    mac: str
    at: datetime


@dataclass(frozen=True, slots=True)
class Fault:
    """`seq` is the first row that is missing or not what it was."""

    seq: int
    problem: str


class ChainCheck:
    """Remembers one mac, however long the chain is.

    `head` is the head as it was before the rows were read, `checkpoint` the newest one taken elsewhere.
    """

    def __init__(
        self, chain: str, *, signer: ChainSigner, head: Pin | None = None, checkpoint: Pin | None = None
    ) -> None:
        self.chain, self.head, self.checkpoint = chain, head, checkpoint
        self.rows = 0
        self.fault: Fault | None = None
        self._signer = signer
        self._before = FIRST_MAC
        self._younger_than_checkpoint: int | None = None

    def take(self, entry: Entry) -> None:
        self.fault = self.fault or self._fault_of(entry)
        self.rows += 1
        self._before = entry.mac

    def finish(self, head: Pin | None) -> Fault | None:
        """`head` as it is after the rows were read: on a live system the chain may have grown meanwhile."""
        self.fault = self.fault or self._fault_at_end(head)
        return self.fault

    def _fault_of(self, entry: Entry) -> Fault | None:
        expected = self.rows + 1
        if entry.seq != expected:
            return Fault(min(entry.seq, expected), "is missing" if entry.seq > expected else "stands twice")
        if not _same(self._signer.mac(self.chain, entry, before=self._before), entry.mac):
            return Fault(entry.seq, "was changed: its mac does not fit it and the row before")
        if self.head is not None and _differs(entry, self.head):
            return Fault(entry.seq, "is not the row that the head names")
        return self._fault_by_checkpoint(entry)

    def _fault_by_checkpoint(self, entry: Entry) -> Fault | None:
        """Rows removed and written anew are whole in themselves. They are younger than the checkpoint they precede."""
        pin = self.checkpoint
        if pin is None or entry.seq > pin.seq:
            return None
        if self._younger_than_checkpoint is None and entry.at > pin.at:
            self._younger_than_checkpoint = entry.seq
        if not _differs(entry, pin):
            return None
        first = self._younger_than_checkpoint or entry.seq
        return Fault(first, f"was replaced: the checkpoint of row {pin.seq} differs")

    def _fault_at_end(self, head: Pin | None) -> Fault | None:
        for pin, name in ((self.checkpoint, "checkpoint"), (self.head, "head")):
            if pin is not None and pin.seq > self.rows:
                return Fault(self.rows + 1, f"is missing: the {name} knows rows up to {pin.seq}")
        if self.rows and head is None:
            return Fault(self.rows, "has no head after it")
        if head is not None and (head.seq < self.rows or (head.seq == self.rows and head.mac != self._before)):
            return Fault(head.seq, "is where the head stands, and is not the last row")
        return None


def _differs(entry: Entry, pin: Pin) -> bool:
    return entry.seq == pin.seq and not _same(entry.mac, pin.mac)


def _same(one: str, other: str) -> bool:
    # As bytes: a mac that somebody wrote over may hold any letter.
    return hmac.compare_digest(one.encode(), other.encode())
