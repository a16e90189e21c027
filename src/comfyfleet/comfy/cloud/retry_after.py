"""Reading `Retry-After`: seconds or an HTTP date. Pure: the time comes in."""

from datetime import UTC, datetime
from email.utils import parsedate_to_datetime


def retry_after_s(header: str | None, *, now: datetime) -> float | None:
    """None: the server does not say, or says something that is neither."""
    if header is None:
        return None
    said = header.strip()
    if said.isascii() and said.isdigit():
        return float(said[:12])
    try:
        at = parsedate_to_datetime(said)
    except (ValueError, TypeError, OverflowError):
        return None
    at = at if at.tzinfo is not None else at.replace(tzinfo=UTC)
    return max(0.0, (at - now).total_seconds())
