"""The EC2 instance metadata service, version 2: a token first, then plain words. Everything is bounded."""

import asyncio
import time
from collections.abc import Callable
from typing import Self

import httpx2

from comfyfleet.kernel.durations import seconds_text
from comfyfleet.kernel.errors import Unavailable
from comfyfleet.kernel.exchanges import Kind, timed_exchange

TOKEN_PATH = "/latest/api/token"  # noqa: S105 a path
TOKEN_TTL_S = 21_600
REQUEST_S = 2.0
ANSWER_BYTES_MAX = 16 * 1024


class MetadataUnavailable(Unavailable):
    """No answer, or none of this service."""

    code = "metadata_unavailable"
    text = "The instance metadata service cannot be asked: {problem}."


class Metadata:
    def __init__(self, url: str, *, request_s: float = REQUEST_S, now: Callable[[], float] = time.monotonic) -> None:
        # Never through a proxy: another machine's metadata would be read.
        self._client = httpx2.AsyncClient(base_url=url, timeout=request_s, trust_env=False, follow_redirects=False)
        self._request_s = request_s
        self._now = now
        self._token: str | None = None
        self._token_until = 0.0

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.close()

    async def close(self) -> None:
        await self._client.aclose()

    async def read(self, path: str) -> str | None:
        """None: there is nothing there at present."""
        status, text = await self._ask(path)
        if status == 401:
            # It forgets tokens when the instance was stopped and started; once more with a new one.
            self._token = None
            status, text = await self._ask(path)
        if status == 404:
            return None
        if status != 200:
            raise MetadataUnavailable(problem=f"{path} was answered with {status}")
        return text

    async def _ask(self, path: str) -> tuple[int, str]:
        if self._token is None or self._now() > self._token_until:
            await self._take_token()
        return await self._request("GET", f"/latest/{path}", {"X-aws-ec2-metadata-token": self._token or ""})

    async def _take_token(self) -> None:
        said = {"X-aws-ec2-metadata-token-ttl-seconds": str(TOKEN_TTL_S)}
        status, text = await self._request("PUT", TOKEN_PATH, said)
        if status != 200 or not text.isascii() or not text.isprintable() or not text:
            raise MetadataUnavailable(problem=f"a token was answered with {status}")
        self._token, self._token_until = text, self._now() + TOKEN_TTL_S / 2

    async def _request(self, method: str, path: str, headers: dict[str, str]) -> tuple[int, str]:
        try:
            with timed_exchange(Kind.MACHINE, f"{method} {path}") as exchange:
                async with asyncio.timeout(self._request_s):
                    async with self._client.stream(method, path, headers=headers) as response:
                        exchange.status = response.status_code
                        return response.status_code, await _bounded(response)
        except TimeoutError:
            raise MetadataUnavailable(problem=f"no answer within {seconds_text(self._request_s)}") from None
        except (httpx2.HTTPError, httpx2.InvalidURL) as problem:
            raise MetadataUnavailable(problem=type(problem).__name__) from None


async def _bounded(response: httpx2.Response) -> str:
    body = b""
    async for piece in response.aiter_bytes():
        body += piece
        if len(body) > ANSWER_BYTES_MAX:
            raise MetadataUnavailable(problem="an answer is too long")
    return body.decode("utf-8", "replace").strip()
