"""What request bodies share: unknown fields are refused, and text is text that every database can keep."""

from typing import Annotated, Any

from fastapi import Query
from fastapi.routing import APIRoute
from pydantic import BaseModel, ConfigDict, Field, model_validator
from starlette.middleware.body_limit import RequestBodyLimitMiddleware
from starlette.types import Receive, Scope, Send

from comfyfleet.kernel.page import PAGE_ROWS_DEFAULT, PAGE_ROWS_MAX, PageRequest

CURSOR_CHARS_MAX = 64
ROOMY_BYTES_MAX = 8 * 1024**2


class Body(BaseModel):
    model_config = ConfigDict(extra="forbid", str_strip_whitespace=True, hide_input_in_errors=True)

    @model_validator(mode="before")
    @classmethod
    def _text_can_be_kept(cls, value: Any) -> Any:
        if isinstance(value, dict):
            for name, field in value.items():
                texts = field if isinstance(field, list) else [field]
                if any(isinstance(text, str) and not is_plain_text(text) for text in texts):
                    raise ValueError(f"{name!r:.100} holds a NUL or half a character")
        return value


class View(BaseModel):
    """A response: only what is listed here ever leaves."""

    model_config = ConfigDict(from_attributes=True)


class RoomyRoute(APIRoute):
    """For operators' graphs: the limit of all other bodies would refuse large ones."""

    bytes_max = ROOMY_BYTES_MAX

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        # Inside another one, this replaces the outer limit.
        await RequestBodyLimitMiddleware(super().handle, max_body_size=self.bytes_max)(scope, receive, send)


def is_plain_text(text: str) -> bool:
    """PostgreSQL keeps no NUL, and half a surrogate pair cannot be encoded at all."""
    return "\x00" not in text and not any("\ud800" <= letter <= "\udfff" for letter in text)


def page_request(
    limit: Annotated[int, Query(ge=1, le=PAGE_ROWS_MAX, description="Rows a page.")] = PAGE_ROWS_DEFAULT,
    cursor: Annotated[
        str | None, Query(max_length=CURSOR_CHARS_MAX, description="`next_cursor` of the page before.")
    ] = None,
) -> PageRequest:
    return PageRequest.parse(rows=limit, cursor=cursor)


# Strict: `true`, "7" and 1000.0 are no amounts, though a parser could make numbers of them.
Tokens = Annotated[int, Field(strict=True, ge=1, le=10**12)]
