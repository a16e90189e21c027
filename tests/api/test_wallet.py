"""Credit by operator and by shop, read by the user."""

import httpx2

from comfyfleet.house import House
from tests.builders import a_member, an_operator_key


async def test_an_operator_credits_and_the_user_sees_it(client: httpx2.AsyncClient, house: House) -> None:
    member, operator = await a_member(house), await an_operator_key(house)
    body = {"user_id": str(member.user.id), "amount": 250, "provider_transaction_id": "gift-1"}
    url = f"/api/admin/tenants/{member.tenant.id}/credits"
    first = await client.post(url, json=body, headers=operator)
    again = await client.post(url, json=body, headers=operator)
    assert (first.status_code, again.status_code) == (201, 200)
    assert first.json()["balance"] == again.json()["balance"] == 250
    wallet = await client.get("/api/wallet", headers=member.headers)
    assert wallet.json() == {"user_id": str(member.user.id), "balance": 250}
