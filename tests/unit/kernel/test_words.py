"""Secrets, pages, errors, hosts."""

import copy
import pickle
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from comfyfleet.kernel.errors import InvalidCursor, NotFound
from comfyfleet.kernel.hosts import is_loopback
from comfyfleet.kernel.ids import new_id
from comfyfleet.kernel.page import Page, PageRequest
from comfyfleet.kernel.secret import Secret, new_secret


def test_a_secret_does_not_show_itself() -> None:
    secret = Secret("hunter2")
    for text in (repr(secret), str(secret), f"{secret}", f"{secret!r:>20}", repr({"a": [secret]}), repr((secret,))):
        assert "hunter2" not in text
    assert secret.reveal() == "hunter2"


def test_a_secret_is_compared_by_its_digest() -> None:
    secret = new_secret()
    assert secret.matches(Secret(secret.reveal()).digest())
    assert not secret.matches(new_secret().digest())
    assert copy.copy(secret).matches(secret.digest())


def test_new_secrets_have_256_bits_and_differ() -> None:
    made = {new_secret().reveal() for _ in range(100)}
    assert len(made) == 100
    assert all(len(text) == 43 for text in made)


def test_ids_sort_by_age() -> None:
    ids = [new_id() for _ in range(1000)]
    assert ids == sorted(ids)
    assert all(each.version == 7 for each in ids)


@given(st.uuids(), st.integers(min_value=1, max_value=5))
def test_a_cursor_comes_back_as_the_row_it_stands_for(last: UUID, rows: int) -> None:
    found = list(range(rows + 1))
    page = Page.cut(found, [last] * (rows + 1), PageRequest(rows=rows))
    assert page.rows == found[:rows]
    assert page.next_cursor is not None
    assert PageRequest.parse(cursor=page.next_cursor).after == last


def test_the_last_page_has_no_cursor() -> None:
    assert Page.cut([1, 2], [new_id(), new_id()], PageRequest(rows=2)).next_cursor is None


@given(st.text(max_size=40))
def test_any_other_text_is_no_cursor(text: str) -> None:
    try:
        after = PageRequest.parse(cursor=text).after
    except InvalidCursor:
        return
    assert isinstance(after, UUID)


def test_errors_survive_a_process_boundary_with_their_facts() -> None:
    error = NotFound("file", "x")
    assert error.facts == {"noun": "file", "name": "x"}
    assert error.message == "There is no file 'x'."
    assert pickle.loads(pickle.dumps(error.facts)) == error.facts  # noqa: S301 our own bytes


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST", "a.localhost", "127.0.0.1", "127.9.9.9", "::1", "[::1]"])
def test_this_machine(host: str) -> None:
    assert is_loopback(host)


@pytest.mark.parametrize(
    "host", ["example.com", "10.0.0.1", "localhost.example.com", "0.0.0.0", "", "127.0.0.1.nip.io"]
)
def test_other_machines(host: str) -> None:
    assert not is_loopback(host)
