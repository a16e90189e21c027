"""What the API reference at `/docs` may load and who may frame it. FastAPI makes the page, with a script in
itself; that one is allowed by its hash."""

import base64
import hashlib
import re

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

_INLINE_SCRIPT = re.compile(rb"<script>(.*?)</script>", re.DOTALL)


class DocsRules:
    def __init__(self, app: ASGIApp, path: str) -> None:
        self.app, self.path = app, path

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or not (scope["path"] == self.path or scope["path"].startswith(f"{self.path}/")):
            await self.app(scope, receive, send)
            return
        start: Message | None = None

        async def send_with_rules(message: Message) -> None:
            """The page comes in one piece; its rules go out before it, so the start waits for it."""
            nonlocal start
            if message["type"] == "http.response.start":
                start = message
                return
            if start is not None:
                MutableHeaders(scope=start)["Content-Security-Policy"] = docs_rules(message.get("body", b""))
                await send(start)
                start = None
            await send(message)

        await self.app(scope, receive, send_with_rules)


def docs_rules(page: bytes) -> str:
    hashes = [base64.b64encode(hashlib.sha256(script).digest()).decode() for script in _INLINE_SCRIPT.findall(page)]
    return "; ".join(
        [
            "default-src 'self'",
            " ".join(["script-src 'self'", *(f"'sha256-{each}'" for each in hashes)]),
            "style-src 'self' 'unsafe-inline'",
            "img-src 'self' data:",
            "connect-src 'self'",
            "object-src 'none'",
            "frame-ancestors 'none'",
            "base-uri 'none'",
            "form-action 'self'",
        ]
    )
