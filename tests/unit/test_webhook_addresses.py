"""A webhook's name may lead anywhere; a connection is made to public addresses only, and to those that were checked."""

import asyncio
import socket
import threading
from ipaddress import ip_network
from typing import Any

import httpx2
import pytest

from comfyfleet.kernel.errors import InvalidInput
from comfyfleet.kernel.ids import new_id
from comfyfleet.kernel.secret import Secret
from comfyfleet.webhooks.addresses import AddressNotPublic, require_reachable
from comfyfleet.webhooks.endpoints import check_url
from comfyfleet.webhooks.model import Due, WebhookType
from comfyfleet.webhooks.send import AddressRefused, PublicOnly, a_sender, send
from tests.receiver import a_receiver

PRIVATE = [
    "127.0.0.1",
    "10.1.2.3",
    "172.16.0.1",
    "192.168.1.1",
    "169.254.169.254",
    "100.64.0.1",
    "0.0.0.0",
    "224.0.0.1",
    "::1",
    "fe80::1",
    "fd00:ec2::254",
    "::ffff:169.254.169.254",
    "2002:7f00:1::",
    "64:ff9b::a9fe:a9fe",  # NAT64: a gateway would carry it to 169.254.169.254
    "64:ff9b:1::a9fe:a9fe",
    "::169.254.169.254",
    "::ffff:0:169.254.169.254",
]


def leads_to(monkeypatch: pytest.MonkeyPatch, *answers: list[str]) -> list[str]:
    """The name server: each question gets the next answer."""
    asked: list[str] = []

    def look_up(host: str, port: int, **_: Any) -> list[Any]:
        found = answers[min(len(asked), len(answers) - 1)]
        asked.append(host)
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port)) for address in found]

    monkeypatch.setattr(socket, "getaddrinfo", look_up)
    return asked


@pytest.mark.parametrize("address", PRIVATE)
async def test_what_is_not_public_is_refused(monkeypatch: pytest.MonkeyPatch, address: str) -> None:
    leads_to(monkeypatch, [address])
    async with a_sender() as client:
        with pytest.raises(AddressRefused):
            await client.get("http://hooks.example.com/")


@pytest.mark.parametrize("address", [*PRIVATE, "127.1", "0x7f000001", "2130706433"])
def test_an_address_that_is_not_public_is_refused_before_anything_is_sent(address: str) -> None:
    host = f"[{address}]" if ":" in address else address
    with pytest.raises(AddressNotPublic):
        require_reachable(f"http://{host}:9/hook", allowed=[])


@pytest.mark.parametrize("host", ["93.184.216.34", "[2606:2800:220:1::1]", "10.1.2.3", "localhost", "nobody.invalid"])
def test_public_addresses_allowed_ones_and_names_are_not(host: str) -> None:
    require_reachable(f"https://{host}/hook", allowed=[ip_network("10.1.0.0/16")])


async def test_one_private_address_among_public_ones_is_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    leads_to(monkeypatch, ["93.184.216.34", "10.0.0.1"])
    async with a_sender() as client:
        with pytest.raises(AddressRefused):
            await client.get("https://hooks.example.com/")


async def test_a_name_that_leads_elsewhere_the_second_time_is_asked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """DNS rebinding: public when checked, private when connected to. There is no second question."""
    async with a_receiver() as receiver:
        asked = leads_to(monkeypatch, ["127.0.0.1"], ["127.0.0.2"])
        async with a_sender(allowed=[ip_network("127.0.0.1/32")]) as client:
            answer = await client.post(f"http://hooks.example.com:{receiver.port}/hook", content=b"{}")
        assert answer.status_code == 204
        assert asked == ["hooks.example.com"]
        assert receiver.received[0].headers["host"] == f"hooks.example.com:{receiver.port}"


async def test_two_names_at_one_address_share_no_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    """The certificate was checked for the first name; the second one's may be another's, or none."""
    leads_to(monkeypatch, ["127.0.0.1"])
    async with a_receiver() as receiver, a_sender(allowed=[ip_network("127.0.0.1/32")]) as client:
        for name in ("a.example.com", "b.example.com"):
            await client.post(f"http://{name}:{receiver.port}/hook", content=b"{}")
    assert (receiver.connections, len(receiver.received)) == (2, 2)


async def test_a_name_server_that_never_answers_holds_up_no_other_name(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not those of other webhooks, nor those that anything else in this process looks up."""
    answered, look_up = threading.Event(), socket.getaddrinfo

    def hang(host: str, *asked: Any, **given: Any) -> Any:
        if host.startswith("tarpit"):
            answered.wait(60)
            raise socket.gaierror
        return look_up("127.0.0.1" if host.endswith(".test") else host, *asked, **given)

    monkeypatch.setattr(socket, "getaddrinfo", hang)
    async with a_receiver() as receiver, a_sender(allowed=[ip_network("127.0.0.1/32")]) as client:
        stuck = [asyncio.ensure_future(client.get(f"http://tarpit-{number}.test/")) for number in range(40)]
        try:
            async with asyncio.timeout(10):
                await asyncio.sleep(0)
                assert (await client.get(f"http://quick.test:{receiver.port}/")).status_code == 204
                assert await asyncio.get_running_loop().getaddrinfo("localhost", 80)
        finally:
            answered.set()
            await asyncio.gather(*stuck, return_exceptions=True)


def due_at(url: str) -> Due:
    secret = Secret("whsec_" + "A" * 32)
    return Due(new_id(), new_id(), new_id(), 1, 0, new_id(), url, secret, "{}", WebhookType.JOB_QUEUED, new_id())


async def test_an_allowed_network_is_reached() -> None:
    transport = PublicOnly(allowed=[ip_network("127.0.0.0/8")])
    async with a_receiver() as receiver, httpx2.AsyncClient(transport=transport) as client:
        assert (await client.get(receiver.url)).status_code == 204


async def test_a_refused_address_is_told_as_what_became_of_the_try(monkeypatch: pytest.MonkeyPatch) -> None:
    leads_to(monkeypatch, ["169.254.169.254"])
    due = due_at("http://metadata.example.com/")
    async with a_sender() as client:
        sent = await send(client, due)
    assert sent.status is None
    assert sent.error == "metadata.example.com leads to an address that is not public."


@pytest.mark.parametrize("url", ["http://10.1.2.3:9/hook", "http://localhost:9/hook"])
async def test_no_error_names_the_address_that_was_tried(url: str) -> None:
    due = due_at(url)
    async with httpx2.AsyncClient(transport=Fails()) as client:
        sent = await send(client, due)
    assert sent.error == "No connection could be made."


class Fails(httpx2.AsyncBaseTransport):
    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        raise httpx2.ConnectError("[Errno 111] Connect call failed ('10.1.2.3', 9)")


@pytest.mark.parametrize(
    "url",
    [
        "https://[::1",
        "https://\u2488.com/x",
        "https://exa\u00admple.com/x",
        "https://256.256.1.1/x",
        "https://example.com:80a/",
        "https://example.com/\x7f",
    ],
)
async def test_what_the_client_refuses_is_refused_when_entered(url: str) -> None:
    with pytest.raises(InvalidInput):
        check_url(url)
    due = due_at(url)
    async with a_sender() as client:  # one that was entered before that
        assert (await send(client, due)).error == "The URL cannot be called."
