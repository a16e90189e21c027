"""One try: sign, connect to where the name leads now if that is allowed, POST, look at the status."""

import asyncio
import ipaddress
import socket
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from functools import partial

import httpx2
import structlog
from standardwebhooks import Webhook

from comfyfleet.kernel.durations import seconds_text
from comfyfleet.kernel.errors import Refused
from comfyfleet.kernel.exchanges import Kind, timed_exchange
from comfyfleet.webhooks.addresses import Network, is_allowed
from comfyfleet.webhooks.model import Due, Sent, SignedMessage

WITHIN_S = 15.0
CONNECT_WITHIN_S = 5.0
# Only the status counts. A little of the body is read: whoever is hung up on while it answers may call that a failure.
BODY_BYTES_MAX = 64 * 1024
LOOKUPS_MAX = 64
PROBLEMS: tuple[tuple[type[Exception], str], ...] = (
    (socket.gaierror, "The host name was not found."),
    (httpx2.ConnectTimeout, f"No connection within {seconds_text(CONNECT_WITHIN_S)}."),
    (httpx2.ConnectError, "No connection could be made."),
    (httpx2.TimeoutException, f"did not answer within {seconds_text(WITHIN_S)}"),
    (httpx2.InvalidURL, "The URL cannot be called."),
    (httpx2.UnsupportedProtocol, "The URL cannot be called."),
    (UnicodeError, "The host name was not found."),
    (httpx2.TransportError, "The connection broke before there was an answer."),
    (Exception, "It could not be sent."),
)

log = structlog.get_logger()


class AddressRefused(Refused):
    """A webhook URL leads into a network that is not its tenant's to reach."""

    code = "address_refused"
    text = "{host} leads to an address that is not public."

    def __init__(self, host: str, address: str) -> None:
        super().__init__(host=host)
        self.address = address  # for operators only: a tenant could read a private network's names from it


class PublicOnly(httpx2.AsyncBaseTransport):
    """Looks a name up once, checks every address it leads to, and connects to one of those very addresses.

    A name that is checked first and looked up again by whoever connects may lead elsewhere the second time.
    """

    def __init__(self, *, allowed: Sequence[Network] = ()) -> None:
        self._allowed = tuple(allowed)
        # No proxy of the environment: it would do the looking up. No connection twice: they are kept by address, and
        # one whose certificate was checked for a name must not carry what goes to another name at the same address.
        self._transport = httpx2.AsyncHTTPTransport(
            trust_env=False, retries=0, limits=httpx2.Limits(max_keepalive_connections=0)
        )
        # Of its own: a tenant's name server that never answers must not hold up whoever else looks up a name.
        self._lookups = ThreadPoolExecutor(LOOKUPS_MAX, thread_name_prefix="webhook-lookup")

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        host = request.url.host
        address = await self._look_up(host, request.url.port or (443 if request.url.scheme == "https" else 80))
        request.extensions = {**request.extensions, "sni_hostname": host}
        request.url = request.url.copy_with(host=address)
        return await self._transport.handle_async_request(request)

    async def _look_up(self, host: str, port: int) -> str:
        look_up = partial(socket.getaddrinfo, host, port, type=socket.SOCK_STREAM)
        found = await asyncio.get_running_loop().run_in_executor(self._lookups, look_up)
        addresses = [str(each[4][0]) for each in found]
        for address in addresses:
            if not self._is_allowed(address):
                raise AddressRefused(host, address)
        return addresses[0]

    def _is_allowed(self, text: str) -> bool:
        return is_allowed(ipaddress.ip_address(text.partition("%")[0]), self._allowed)

    async def aclose(self) -> None:
        self._lookups.shutdown(wait=False, cancel_futures=True)
        await self._transport.aclose()


def a_sender(*, allowed: Sequence[Network] = ()) -> httpx2.AsyncClient:
    return httpx2.AsyncClient(
        transport=PublicOnly(allowed=allowed),
        timeout=httpx2.Timeout(WITHIN_S, connect=CONNECT_WITHIN_S),
        follow_redirects=False,
        trust_env=False,
    )


async def send(client: httpx2.AsyncClient, due: Due) -> Sent:
    """Never raises for what the receiver does."""
    message_id = f"msg_{due.event_id.hex}"
    return await send_signed(
        client, SignedMessage(message_id, due.url, due.secret, due.payload, about=str(due.endpoint_id))
    )


async def send_signed(client: httpx2.AsyncClient, message: SignedMessage) -> Sent:
    """Never raises for what the receiver does. The time is bounded as a whole: a byte a second is no answer."""
    began = time.monotonic()
    try:
        with timed_exchange(Kind.WEBHOOK, "POST") as exchange:
            async with asyncio.timeout(WITHIN_S):
                exchange.status = status = await _post(client, message)
        error = None if 200 <= status < 300 else f"answered {status}"
    except TimeoutError:
        status, error = None, f"did not answer within {seconds_text(WITHIN_S)}"
    except AddressRefused as refused:
        log.info("webhook.address_refused", endpoint=message.about, address=refused.address)
        status, error = None, refused.message
    except (httpx2.HTTPError, httpx2.InvalidURL, OSError, ValueError) as problem:
        log.info("webhook.not_sent", endpoint=message.about, problem=f"{type(problem).__name__}: {problem}")
        status, error = None, _in_words(problem)
    return Sent(status, error, round((time.monotonic() - began) * 1000))


def _in_words(problem: Exception) -> str:
    """For the tenant to read: one of a few sentences. The text of an exception may hold addresses of our networks."""
    if "certificate verify failed" in str(problem):
        return "Its certificate is not valid for the host name."
    return next(words for kind, words in PROBLEMS if isinstance(problem, kind))


async def _post(client: httpx2.AsyncClient, message: SignedMessage) -> int:
    body, now = message.body, datetime.now(UTC)
    headers = {
        "content-type": "application/json",
        "user-agent": "comfyfleet-webhooks/1",
        # The same over all tries: by it a receiver knows what it has seen.
        "webhook-id": message.id,
        "webhook-timestamp": str(int(now.timestamp())),
        "webhook-signature": Webhook(message.secret.reveal()).sign(message.id, now, body),
    }
    async with client.stream("POST", message.url, content=body.encode(), headers=headers) as response:
        read = 0
        async for chunk in response.aiter_raw():
            read += len(chunk)
            if read > BODY_BYTES_MAX:
                break
        return response.status_code
