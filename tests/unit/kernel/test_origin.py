"""URLs in answers: whole for programs, paths for our own pages, nothing of a host that is none."""

import pytest

from comfyfleet.kernel.origin import absolute, answer_to


@pytest.mark.parametrize(
    ("scheme", "host", "is_page", "whole"),
    [
        ("http", "127.0.0.1:8700", False, "http://127.0.0.1:8700/a"),
        ("https", "fleet.example.com", False, "https://fleet.example.com/a"),
        ("http", "[::1]:8700", False, "http://[::1]:8700/a"),
        ("http", "127.0.0.1:8700", True, "/a"),
        ("http", "", False, "/a"),
        ("http", "evil.example/x?", False, "/a"),
        ("http", "user@evil.example", False, "/a"),
        ("http", "[::", False, "/a"),
    ],
)
def test_where_the_answer_goes_decides(scheme: str, host: str, is_page: bool, whole: str) -> None:
    answer_to(scheme, host, is_page=is_page)
    assert absolute("/a") == whole
