"""Credentials go to the server and nowhere else."""

import pytest

from comfyfleet.comfy.address import parse_address
from comfyfleet.comfy.client import ComfyClient
from comfyfleet.kernel.errors import InvalidInput
from comfyfleet.kernel.secret import Secret


@pytest.mark.parametrize(
    ("given", "url", "socket"),
    [
        ("127.0.0.1:8188", "http://127.0.0.1:8188", "ws://127.0.0.1:8188/ws?clientId=me"),
        ("https://gpu.example/comfy/", "https://gpu.example/comfy", "wss://gpu.example/comfy/ws?clientId=me"),
        ("http://[::1]:8188", "http://[::1]:8188", "ws://[::1]:8188/ws?clientId=me"),
        ("HTTP://u:p@Host", "http://host", "ws://host/ws?clientId=me"),
    ],
)
def test_urls(given: str, url: str, socket: str) -> None:
    address = parse_address(given)
    assert address.url == url
    assert address.socket_url("me") == socket


def test_user_and_password_become_a_header_and_vanish_from_every_text() -> None:
    address = parse_address("http://ada:s%40fe@host:1")
    assert address.headers["Authorization"] == "Basic YWRhOnNAZmU="
    for text in (repr(address), str(address), address.name, address.url):
        assert "ada" not in text
        assert "fe" not in text
        assert "Basic" not in text


async def test_a_bearer_is_sent_and_not_shown() -> None:
    async with ComfyClient("host", bearer=Secret("hush"), headers={"X-Key": "hush"}) as client:
        assert client.address.headers == {"Authorization": "Bearer hush", "X-Key": "hush"}
        assert "hush" not in repr(client) + repr(client.address)


@pytest.mark.parametrize("url", ["ftp://host", "http://", "http://host:port", "http://h/?token=secret", "http://[", ""])
def test_what_is_no_server_is_refused_without_repeating_it(url: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        parse_address(url)
    assert "secret" not in str(refused.value)
