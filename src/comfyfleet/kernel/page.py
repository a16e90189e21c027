"""Pages of a list. A cursor is opaque to callers: the id of the last row they saw."""

import base64
import binascii
from dataclasses import dataclass
from typing import Generic, TypeVar
from uuid import UUID

from comfyfleet.kernel.errors import InvalidCursor

PAGE_ROWS_MAX = 100
PAGE_ROWS_DEFAULT = 50

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class PageRequest:
    rows: int = PAGE_ROWS_DEFAULT
    after: UUID | None = None

    @staticmethod
    def parse(*, rows: int = PAGE_ROWS_DEFAULT, cursor: str | None = None) -> "PageRequest":
        return PageRequest(rows=rows, after=_read_cursor(cursor) if cursor is not None else None)


@dataclass(frozen=True, slots=True)
class Page(Generic[T]):
    rows: list[T]
    next_cursor: str | None

    @staticmethod
    def cut(found: list[T], ids: list[UUID], request: PageRequest) -> "Page[T]":
        """`found` holds one row more than asked for when there is a further page."""
        more = len(found) > request.rows
        return Page(found[: request.rows], cursor_at(ids[request.rows - 1]) if more else None)


def cursor_at(last: UUID) -> str:
    """What comes after this row."""
    return base64.urlsafe_b64encode(last.bytes).rstrip(b"=").decode()


def _read_cursor(text: str) -> UUID:
    try:
        raw = base64.b64decode(text + "==", altchars=b"-_", validate=True)
        return UUID(bytes=raw)
    except (binascii.Error, ValueError):
        raise InvalidCursor from None
