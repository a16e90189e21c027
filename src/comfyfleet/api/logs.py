"""Structured logs: one event a line, never a secret."""

import logging
import re
import sys
from collections.abc import MutableMapping
from typing import Any, Literal

import structlog

MASK = "**********"
SECRET_NAME = re.compile(r"secret|password|token|authorization|cookie|signature|api_key|dsn", re.IGNORECASE)
# Keys, signed object URLs, one-time links, webhook secrets, credentials inside URLs, password hashes, and the
# values of a statement that failed (a traceback holds them), wherever they turn up.
SECRET_TEXT = re.compile(
    r"cf_[0-9a-f]{16}_[\w-]+|(?<=/objects/)[\w.~-]+|(?<=token=)[\w.~-]+|whsec_[\w+/=-]+"
    r"|(?<=X-Amz-Signature=)\w+|(?<=X-Goog-Signature=)\w+|(?<=://)[^\s/@:]+:[^\s/@]+(?=@)"
    r"|\$argon2\w*\$[\w$+/=,.-]+|(?<=\[parameters: )[^\n]+|(?<=Failing row contains )[^\n]+",
)


def mask_secrets(_logger: Any, _method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    for name, value in event.items():
        event[name] = MASK if SECRET_NAME.search(name) else _masked(value)
    return event


def _masked(value: Any) -> Any:
    if isinstance(value, str):
        return SECRET_TEXT.sub(MASK, value)
    if isinstance(value, dict):
        return {name: MASK if SECRET_NAME.search(str(name)) else _masked(inner) for name, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [_masked(inner) for inner in value]
    return value


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
        processors=[*shared, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
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
    # At their debug level these write whole statements and signed requests, values and all.
    for name in ("alembic", "aiosqlite", "boto3", "botocore", "httpcore2", "httpx2", "s3transfer", "urllib3"):
        logging.getLogger(name).setLevel(logging.WARNING)
