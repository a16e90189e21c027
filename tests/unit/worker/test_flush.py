"""The last lines of a job go out before its end, and never hold it up for long."""

import asyncio
import time
from uuid import uuid4

from comfyfleet.wire import worker_v1 as wire
from comfyfleet.worker.control import ControlClient, Session
from comfyfleet.worker.events import Reporter


async def test_a_control_plane_that_does_not_answer_holds_up_no_end() -> None:
    asked = asyncio.Event()

    async def never_answers(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked.set()
        await reader.read()
        writer.close()

    async with await asyncio.start_server(never_answers, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        client = ControlClient(Session(f"http://127.0.0.1:{port}", "worker-1"))
        reporter = Reporter(client, on_cancel=lambda _each: None)
        lease = wire.LeaseProof(dispatch_id=uuid4(), lease_token="a lease token of some length")
        reporter.log(lease, "Uploaded 1 output.")
        began = time.monotonic()
        await reporter.flush(lease.dispatch_id, within_s=0.2)
        assert 0.2 <= time.monotonic() - began < 2.0
        assert asked.is_set()
        # What is still under way for others is waited for no longer, either.
        reporter.log(wire.LeaseProof(dispatch_id=uuid4(), lease_token=lease.lease_token), "of another job")
        sending = asyncio.create_task(reporter.tick())
        await asyncio.sleep(0)
        began = time.monotonic()
        await reporter.flush(lease.dispatch_id, within_s=0.2)
        assert time.monotonic() - began < 2.0
        sending.cancel()
        await asyncio.gather(sending, return_exceptions=True)
        await client.close()
