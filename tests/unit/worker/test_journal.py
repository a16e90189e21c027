"""The journal: read as it was written, one worker a home, and nothing unreadable stops a start."""

import stat
from pathlib import Path
from uuid import uuid4

import msgspec
import pytest

from comfyfleet.wire import worker_v1 as wire
from comfyfleet.worker.journal import Entry, HomeInUse, Journal, prompt_id_of


def an_entry(**given: object) -> Entry:
    dispatch_id = uuid4()
    job = wire.Job(
        dispatch_id=dispatch_id,
        lease_token="1.secret",
        lease_seconds=15,
        heartbeat_interval_seconds=30,
        deadline_seconds=3600,
        job_id=dispatch_id,
        workflow_id=uuid4(),
        structure_hash="s",
        provider="self_hosted",
        attempt=1,
        epoch=1,
        nonce="n",
        input_payload=msgspec.Raw(b'{"workflow": {"1": {"class_type": "\\u00e9"}}}'),
    )
    return msgspec.structs.replace(Entry(job=job, leased_at=5.0), **given)


def endings(entry: Entry) -> list[wire.Complete | wire.Fail | wire.Requeue | None]:
    lease = {"worker_id": "w", "dispatch_id": entry.dispatch_id, "lease_token": "1.secret"}
    output = wire.Output(path="p", name="n", mime_type="image/png", size=3)
    return [
        None,
        wire.Complete(**lease, outputs=[output]),
        wire.Fail(**lease, error="e", error_class="out_of_memory"),
        wire.Requeue(**lease, reason="r"),
    ]


async def test_what_is_written_is_read_again(tmp_path: Path) -> None:
    journal = Journal(tmp_path)
    journal.open()
    entry = an_entry(server="a:8188", nonce="ab", day="2026-11-16", prompt_id="p", posted=True)
    for ending in endings(entry):
        written = msgspec.structs.replace(entry, ending=ending)
        await journal.write(written)
        [read] = journal.read()
        assert read.ending == ending
        assert msgspec.structs.replace(read, job=entry.job) == written
        assert bytes(read.job.input_payload) == bytes(entry.job.input_payload)
        assert read.proof == entry.proof
    await journal.forget(entry.dispatch_id)
    assert journal.read() == []
    journal.close()


async def test_half_a_file_is_put_aside_and_the_others_are_read(tmp_path: Path) -> None:
    journal = Journal(tmp_path)
    journal.open()
    entry = an_entry()
    await journal.write(entry)
    (tmp_path / "journal" / "broken.json").write_bytes(b'{"entry": {"jo')
    (tmp_path / "journal" / "unfinished.new").write_bytes(b"{")
    assert [each.dispatch_id for each in journal.read()] == [entry.dispatch_id]
    assert sorted(each.suffix for each in (tmp_path / "journal").iterdir()) == [".json", ".unreadable"]
    journal.close()


def test_two_workers_do_not_share_a_home(tmp_path: Path) -> None:
    first, second = Journal(tmp_path), Journal(tmp_path)
    first.open()
    with pytest.raises(HomeInUse, match="--home"):
        second.open()
    first.close()
    second.open()
    second.close()


def test_a_prompt_id_is_canonical_and_each_attempts_own() -> None:
    dispatch_id = uuid4()
    ids = {prompt_id_of(dispatch_id, epoch=epoch, nonce=nonce) for epoch in (1, 2) for nonce in ("a", "b")}
    assert len(ids) == 4
    assert all(each == each.lower() and len(each) == 36 for each in ids)


def test_what_is_in_its_home_is_for_its_owner_only_also_in_an_older_one(tmp_path: Path) -> None:
    """Inputs and results of users lie beside the journal."""
    for home in (tmp_path / "fresh", tmp_path / "older"):
        if home.name == "older":
            home.mkdir(mode=0o755)
        journal = Journal(home)
        journal.open()
        journal.close()
        assert stat.S_IMODE(home.stat().st_mode) == 0o700, home.name
