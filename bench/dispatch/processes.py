"""Processes beside this one: the simulated workers, and what the operating system says of the server."""

import asyncio
import json
import os
import resource
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any


@asynccontextmanager
async def simulated_workers(order: dict[str, Any]) -> AsyncIterator[asyncio.subprocess.Process]:
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "bench.dispatch.load",
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        limit=2**20,
    )
    try:
        assert process.stdin is not None  # noqa: S101 it was asked for
        process.stdin.write(json.dumps(order).encode() + b"\n")
        await process.stdin.drain()
        yield process
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


async def next_line(process: asyncio.subprocess.Process) -> dict[str, Any]:
    assert process.stdout is not None  # noqa: S101 it was asked for
    line = await process.stdout.readline()
    if not line:
        problems = await process.stderr.read() if process.stderr is not None else b""
        raise RuntimeError(f"the simulated workers stopped: {problems.decode()[-2000:]}")
    found: dict[str, Any] = json.loads(line)
    return found


def allow_many_files() -> None:
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


def resident_mb(pid: int) -> float:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) / 1024
    return 0.0


def cpu_s(pid: int) -> float:
    """User and system time of one process, from its line in /proc."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return sum(int(ticks) for ticks in fields[11:13]) / os.sysconf("SC_CLK_TCK")


def cpu_ms(pid: int) -> float | None:
    """Time on a processor, to the nanosecond; None where the system does not tell, or for a server elsewhere."""
    try:
        return int(Path(f"/proc/{pid}/schedstat").read_text().split()[0]) / 1e6
    except OSError:
        return None
