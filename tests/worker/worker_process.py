"""A worker as a process that tests may kill: settings by the environment; SIGTERM drains, standard input's end too."""

import asyncio
import os
import signal
import sys

import structlog

from comfyfleet.comfy import SelfHosted
from comfyfleet.worker.agent import Agent
from comfyfleet.worker.interruption.model import Notice
from comfyfleet.worker.options import WorkerSettings


async def main() -> None:
    structlog.configure(
        processors=[structlog.contextvars.merge_contextvars, structlog.processors.JSONRenderer()],
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
    )
    settings = WorkerSettings()
    connectors = [SelfHosted(address) for address in settings.addresses()]
    agent = Agent(settings, worker_id=settings.worker_id or "worker-1", connectors=connectors)
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, lambda: agent.drain(Notice("SIGTERM")))
    await agent.run()


if __name__ == "__main__":
    asyncio.run(main())
    sys.stderr.flush()
    os._exit(0)
