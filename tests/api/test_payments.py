"""A shop reports a payment: signed, once, or not at all."""

import asyncio
import json
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx2
import pytest
from standardwebhooks import Webhook

from comfyfleet.api.app import build_app
from comfyfleet.api.options import ApiOptions
from comfyfleet.house import House
from comfyfleet.kernel.ids import new_id
from comfyfleet.kernel.secret import Secret
from tests.api.asking import at, fault, row_counts
from tests.api.conftest import WEBHOOK_SECRET
from tests.builders import Member, a_member, balance

OTHER_SECRET = "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD"
URL = "/api/payments/credit"


@dataclass(frozen=True)
class Message:
    """What a shop would send. Change a part after signing by `headers` and `content`."""

    body: Any
    secret: str = WEBHOOK_SECRET
    id: str = field(default_factory=lambda: f"msg_{new_id()}")
    age: timedelta = timedelta(0)

    @property
    def content(self) -> str:
        return self.body if isinstance(self.body, str) else json.dumps(self.body)

    @property
    def headers(self) -> dict[str, str]:
        sent_at = datetime.now(UTC) - self.age
        return {
            "webhook-id": self.id,
            "webhook-timestamp": str(int(sent_at.timestamp())),
            "webhook-signature": Webhook(self.secret).sign(self.id, sent_at, self.content),
            "content-type": "application/json",
        }


async def send(client: httpx2.AsyncClient, message: Message, **changed: str | None) -> httpx2.Response:
    headers = {name: value for name, value in (message.headers | changed).items() if value is not None}
    raw = {name.encode(): value.encode() for name, value in headers.items()}
    return await client.post(URL, content=message.content.encode("utf-8", "surrogatepass"), headers=raw)


@pytest.fixture
async def member(house: House) -> Member:
    return await a_member(house)


def a_payment(member: Member, **changed: Any) -> dict[str, Any]:
    return {
        "tenant": member.tenant.slug,
        "user_id": str(member.user.id),
        "amount": 40,
        "provider_transaction_id": "order-1",
        **changed,
    }


async def test_a_payment_credits_once_however_often_it_is_sent(
    client: httpx2.AsyncClient, house: House, member: Member
) -> None:
    message = Message(a_payment(member))
    first, replay = await send(client, message), await send(client, message)
    signed_anew = await send(client, Message(a_payment(member)))
    assert [each.status_code for each in (first, replay, signed_anew)] == [201, 200, 200]
    assert [each.json()["replayed"] for each in (first, replay, signed_anew)] == [False, True, True]
    assert first.json()["transaction"] == replay.json()["transaction"]
    assert first.json()["transaction"]["amount"] == 40
    assert await balance(house, member.tenant, member.user) == 40


async def test_of_many_deliveries_at_once_one_moves_tokens(
    client: httpx2.AsyncClient, house: House, member: Member
) -> None:
    answers = await asyncio.gather(*(send(client, Message(a_payment(member))) for _ in range(8)))
    assert sorted(answer.status_code for answer in answers) == [*[200] * 7, 201]
    assert await balance(house, member.tenant, member.user) == 40


async def test_a_tenant_may_be_named_by_id(client: httpx2.AsyncClient, house: House, member: Member) -> None:
    answer = await send(client, Message(a_payment(member, tenant=str(member.tenant.id))))
    assert answer.status_code == 201
    assert await balance(house, member.tenant, member.user) == 40


async def test_a_payment_id_that_comes_again_with_another_amount_is_refused(
    client: httpx2.AsyncClient, house: House, member: Member
) -> None:
    await send(client, Message(a_payment(member)))
    answer = await send(client, Message(a_payment(member, amount=41)))
    assert (answer.status_code, fault(answer)["code"]) == (409, "duplicate_key")
    assert await balance(house, member.tenant, member.user) == 40


async def refused(client: httpx2.AsyncClient, house: House, message: Message, **changed: str | None) -> None:
    before = await row_counts(house)
    answer = await send(client, message, **changed)
    assert (answer.status_code, fault(answer)["code"]) == (403, "signature_refused"), changed
    assert await row_counts(house) == before


async def test_a_body_that_was_tampered_with_is_refused(
    client: httpx2.AsyncClient, house: House, member: Member
) -> None:
    honest = Message(a_payment(member))
    signature = honest.headers["webhook-signature"]
    for dishonest in (a_payment(member, amount=40_000), json.dumps(a_payment(member)) + " ", "", "{}"):
        await refused(client, house, Message(dishonest, id=honest.id), **{"webhook-signature": signature})


async def test_another_secret_is_refused(client: httpx2.AsyncClient, house: House, member: Member) -> None:
    await refused(client, house, Message(a_payment(member), secret=OTHER_SECRET))


@pytest.mark.parametrize("minutes", [6, 60, -6])
async def test_a_message_that_is_too_old_or_from_the_future_is_refused(
    client: httpx2.AsyncClient, house: House, member: Member, minutes: int
) -> None:
    await refused(client, house, Message(a_payment(member), age=timedelta(minutes=minutes)))


async def test_an_old_message_does_not_get_young_by_its_header(
    client: httpx2.AsyncClient, house: House, member: Member
) -> None:
    now = str(int(datetime.now(UTC).timestamp()))
    await refused(client, house, Message(a_payment(member), age=timedelta(hours=1)), **{"webhook-timestamp": now})


@pytest.mark.parametrize("missing", ["webhook-id", "webhook-timestamp", "webhook-signature"])
@pytest.mark.parametrize("value", [None, ""])
async def test_a_message_without_its_headers_is_refused(
    client: httpx2.AsyncClient, house: House, member: Member, missing: str, value: str | None
) -> None:
    await refused(client, house, Message(a_payment(member)), **{missing: value})


ODD = {
    "webhook-timestamp": ["nan", "inf", "-inf", "1e400", "-1", "0x10", "now", "9" * 400, "é"],
    "webhook-signature": ["v1", "v1,", "v1,é", "v2,AAAA", "v1,A", ",", "v1,a,b", "v1a,AAAA v1,AAAA", "x" * 5000],
    "webhook-id": ["another", "é", "."],
}


@pytest.mark.parametrize("name", ODD)
async def test_odd_headers_are_refused(client: httpx2.AsyncClient, house: House, member: Member, name: str) -> None:
    for value in ODD[name]:
        await refused(client, house, Message(a_payment(member)), **{name: value})


async def test_a_foreign_user_is_as_unknown_as_none(client: httpx2.AsyncClient, house: House, member: Member) -> None:
    stranger, before = await a_member(house), await row_counts(house)
    before = await row_counts(house)
    for user_id in (stranger.user.id, new_id()):
        answer = await send(client, Message(a_payment(member, user_id=str(user_id))))
        assert answer.status_code == 404
        assert fault(answer)["details"] == {"noun": "user", "name": str(user_id)}
    for tenant in ("no-such-tenant", str(new_id())):
        assert (await send(client, Message(a_payment(member, tenant=tenant)))).status_code == 404
    assert await row_counts(house) == before


BAD = [
    {"amount": 0},
    {"amount": -5},
    {"amount": 1.5},
    {"amount": 10**12 + 1},
    {"amount": 10**400},
    {"amount": "forty"},
    {"amount": None},
    {"amount": True},
    {"amount": "7"},
    {"amount": 1000.0},
    {"user_id": "nobody"},
    {"user_id": 7},
    {"tenant": ""},
    {"tenant": "x\x00"},
    {"provider_transaction_id": ""},
    {"provider_transaction_id": "x" * 256},
    {"provider_transaction_id": "a\x00b"},
    {"balance": 1_000_000},
    {"replayed": False},
]


@pytest.mark.parametrize("changed", BAD, ids=str)
async def test_a_signed_body_that_makes_no_sense_is_refused(
    client: httpx2.AsyncClient, house: House, member: Member, changed: dict[str, Any]
) -> None:
    before = await row_counts(house)
    answer = await send(client, Message(a_payment(member, **changed)))
    assert (answer.status_code, fault(answer)["code"]) == (422, "invalid_request")
    assert await row_counts(house) == before


@pytest.mark.parametrize("text", ["", "{", "not json", "{'a': 1}", "[" * 100_000, "\ufeff{}", '{"tenant": "\\ud800"}'])
async def test_a_signed_body_that_is_no_json_is_said_to_be_none(
    client: httpx2.AsyncClient, house: House, text: str
) -> None:
    """The signature holds: a shop that reads 'wrong signature' would look in the wrong place."""
    before = await row_counts(house)
    answer = await send(client, Message(text))
    assert (answer.status_code, fault(answer)["code"]) == (400, "malformed_json")
    assert await row_counts(house) == before


@pytest.mark.parametrize("text", ["[]", "null", "7", '"text"'])
async def test_a_signed_body_that_is_no_object_is_refused(client: httpx2.AsyncClient, text: str) -> None:
    assert (await send(client, Message(text))).status_code == 422


async def test_bytes_that_are_no_text_are_refused(client: httpx2.AsyncClient, member: Member) -> None:
    message = Message(a_payment(member))
    answer = await client.post(URL, content=b"\xff\xfe", headers=message.headers)
    assert (answer.status_code, fault(answer)["code"]) == (403, "signature_refused")


async def test_two_secrets_work_while_one_is_being_replaced(house: House, member: Member) -> None:
    secrets = [Secret(OTHER_SECRET), Secret(WEBHOOK_SECRET)]
    async with at(build_app(house, ApiOptions(payment_webhook_secrets=secrets))) as client:
        for number, secret in enumerate((WEBHOOK_SECRET, OTHER_SECRET)):
            message = Message(a_payment(member, provider_transaction_id=f"order-{number}"), secret=secret)
            assert (await send(client, message)).status_code == 201


async def test_where_no_shop_is_configured_there_is_no_such_route(house: House, member: Member) -> None:
    before = await row_counts(house)
    async with at(build_app(house, ApiOptions())) as client:
        answer = await send(client, Message(a_payment(member)))
    assert (answer.status_code, fault(answer)["code"]) == (404, "payments_closed")
    assert await row_counts(house) == before


async def test_a_key_does_not_replace_the_signature(client: httpx2.AsyncClient, member: Member) -> None:
    answer = await client.post(URL, json=a_payment(member), headers=member.headers)
    assert answer.status_code == 403
