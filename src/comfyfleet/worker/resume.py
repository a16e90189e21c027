"""After a crash: what the journal proves goes on, of the rest the traces are removed."""

import asyncio
from collections.abc import Sequence

import msgspec
import structlog

from comfyfleet.wire import worker_v1 as wire
from comfyfleet.worker.course import Course
from comfyfleet.worker.journal import Entry
from comfyfleet.worker.run_prompt import clean_up, withdraw
from comfyfleet.worker.tools import Tools
from comfyfleet.worker.under_way import UnderWay

log = structlog.get_logger()


async def resume(entries: Sequence[Entry], registered: wire.Registered, tools: Tools, under_way: UnderWay) -> None:
    tokens = {each.dispatch_id: each.lease_token for each in registered.leases}
    kept = [_under(entry, tokens[entry.dispatch_id]) for entry in entries if entry.dispatch_id in tokens]
    lost = [entry for entry in entries if entry.dispatch_id not in tokens]
    if entries:
        log.info("worker.resumes", goes_on=len(kept), gone=len(lost))
    for entry in kept:
        await tools.journal.write(entry)
        under_way.begin(entry)
    await tools.folders.sweep([(entry.dispatch_id, entry.job.epoch) for entry in entries])
    # Before anything new is leased: an orphan that runs on would keep the server from it, unseen.
    await asyncio.gather(*(_remove_traces(entry, tools) for entry in lost))
    for files in tools.servers.files.values():
        await files.sweep([entry.nonce for entry in kept if entry.nonce is not None])


def _under(entry: Entry, lease_token: str) -> Entry:
    return msgspec.structs.replace(entry, job=msgspec.structs.replace(entry.job, lease_token=lease_token))


async def _remove_traces(entry: Entry, tools: Tools) -> None:
    course = Course(entry, tools, moved=lambda: None)
    await withdraw(course)
    await clean_up(course, None)
    await tools.journal.forget(entry.dispatch_id)
