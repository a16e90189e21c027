"""Structured logs: one event a line, never a secret."""

import logging
import sys
from collections.abc import MutableMapping
from typing import Any, Literal

import structlog

from comfyfleet.api.repeated_warnings import RepeatedWarnings
from comfyfleet.kernel.masking import MASK, SECRET_NAME, masked


def mask_secrets(_logger: Any, _method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    for name, value in event.items():
        event[name] = MASK if SECRET_NAME.search(name) else masked(value)
    return event


def configure_logs(style: Literal["auto", "json", "console"], level: str) -> None:
    """Our own events and those of libraries leave through one door, to standard error."""
    console = style == "console" or (style == "auto" and sys.stderr.isatty())
    shared: list[structlog.types.Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.processors.format_exc_info,
        mask_secrets,
    ]
    structlog.configure(
        processors=[
            structlog.stdlib.filter_by_level,
            shared[0],
            RepeatedWarnings(),
            *shared[1:],
            structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
        ],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=False,
    )
    renderer: structlog.types.Processor = (
        structlog.dev.ConsoleRenderer() if console else structlog.processors.JSONRenderer()
    )
    formatter = structlog.stdlib.ProcessorFormatter(
        foreign_pre_chain=shared, processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, renderer]
    )
    handler = logging.StreamHandler()
    handler.setFormatter(formatter)
    root = logging.getLogger()
    root.handlers = [handler]
    root.setLevel(level.upper())
    for name in ("uvicorn", "uvicorn.error", "uvicorn.access"):
        logging.getLogger(name).handlers = []
        logging.getLogger(name).propagate = True
    # Our own request events say more, with the route instead of the raw path.
    logging.getLogger("uvicorn.access").setLevel(logging.WARNING)
    # A line for each request of ours: a worker makes a dozen for a job, and says itself what became of it.
    for name in ("httpx2", "httpcore2"):
        logging.getLogger(name).setLevel(logging.WARNING)
    # At their debug level these write whole statements and signed requests, values and all.
    for name in ("alembic", "aiosqlite", "boto3", "botocore", "httpcore2", "httpx2", "s3transfer", "urllib3"):
        logging.getLogger(name).setLevel(logging.WARNING)
