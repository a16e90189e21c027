"""The check of a chain and the text of a checkpoint, without a database."""

from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from comfyfleet.audit import Action, Actor, ChainSigner, Entry
from comfyfleet.audit.checkpoint import Checkpoint, follow, says_the_same
from comfyfleet.audit.model import FIRST_MAC
from comfyfleet.audit.verify import ChainCheck, Fault, Pin
from comfyfleet.kernel.ids import id_at, new_id
from comfyfleet.kernel.secret import Secret

SIGNER = ChainSigner(Secret("the key that signs chains in tests"))
ACTOR = Actor("operator", "op@example.com")
START = datetime(2026, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class Head:
    seq: int
    mac: str
    at: datetime


def a_chain(rows: int, *, after: list[Entry] | None = None, minute: int = 0) -> list[Entry]:
    entries = list(after or [])
    for number in range(rows):
        last = entries[-1] if entries else None
        at = START + timedelta(minutes=minute, seconds=number)
        head = Head(last.seq if last else 0, last.mac if last else FIRST_MAC, at)
        entries.append(SIGNER.add("central", head, ACTOR, Action("x", detail={"n": number})))
    return entries


def pin_of(entries: list[Entry], at: datetime | None = None) -> Pin:
    return Pin(entries[-1].seq, entries[-1].mac, at or entries[-1].at)


def fault_in(entries: list[Entry], *, chain: str = "central", **known: Any) -> Fault | None:
    head = known.pop("head", pin_of(entries))
    check = ChainCheck(chain, signer=SIGNER, head=head, **known)
    for entry in entries:
        check.take(entry)
    return check.finish(head)


def test_an_honest_chain_holds() -> None:
    entries = a_chain(5)
    assert fault_in(entries, checkpoint=pin_of(entries[:3])) is None


def test_a_chain_under_another_name_does_not() -> None:
    assert (fault_in(a_chain(3), chain="tenant:x") or Fault(0, "")).seq == 1


@pytest.mark.parametrize("bad", range(1, 6))
def test_the_first_changed_row_is_named_wherever_it_stands(bad: int) -> None:
    entries = a_chain(5)
    entries[bad - 1] = replace(entries[bad - 1], subject="another")
    assert (fault_in(entries) or Fault(0, "")).seq == bad


def test_rows_written_anew_are_named_by_their_age() -> None:
    entries = a_chain(6)
    anew = a_chain(6, after=entries[:2], minute=5)
    fault = fault_in(anew, checkpoint=pin_of(entries, at=START + timedelta(minutes=1)))
    assert fault == Fault(3, "was replaced: the checkpoint of row 6 differs")


def test_a_chain_that_grows_while_it_is_read_holds() -> None:
    entries = a_chain(5)
    check = ChainCheck("central", signer=SIGNER, head=pin_of(entries[:3]))
    for entry in entries:
        check.take(entry)
    assert check.finish(pin_of(a_chain(2, after=entries))) is None


def test_a_checkpoint_reads_back_as_it_was_written_and_no_letter_may_change() -> None:
    checkpoint = Checkpoint(
        new_id(), START, {("", "central"): Pin(3, "m", START), ("main", "tenant:x"): Pin(1, "n", START)}
    )
    raw = checkpoint.to_bytes(SIGNER)
    assert Checkpoint.from_bytes(raw, SIGNER) == checkpoint
    assert checkpoint.pools() == {"main"}
    for position in range(len(raw)):
        changed = raw[:position] + bytes([raw[position] ^ 1]) + raw[position + 1 :]
        assert Checkpoint.from_bytes(changed, SIGNER) is None


@pytest.mark.parametrize("raw", [b"", b"{}", b"[]", b"null", b'{"mac": 1}', b'{"mac": "\xff"}', b"[" * 100_000])
def test_what_is_no_checkpoint_is_none(raw: bytes) -> None:
    assert Checkpoint.from_bytes(raw, SIGNER) is None


def test_a_lost_or_absent_chain_keeps_its_place() -> None:
    old, new = Pin(5, "old", START), Pin(9, "new", START)
    before = {("", "central"): old, ("main", "tenant:a"): old, ("main", "tenant:b"): old}
    found = {("", "central"): new, ("main", "tenant:a"): new, ("main", "tenant:c"): new}
    after = follow(before, found, lost=[("main", "tenant:a")])
    assert after == {
        ("", "central"): new,
        ("main", "tenant:a"): old,
        ("main", "tenant:b"): old,
        ("main", "tenant:c"): new,
    }
    assert says_the_same(after, {place: replace(pin, at=datetime.now(UTC)) for place, pin in after.items()})


def test_an_id_sorts_by_the_time_it_is_made_for() -> None:
    assert str(id_at(START)) < str(id_at(START + timedelta(milliseconds=2))) < str(new_id())
