"""Where a tenant wants its events sent."""

import base64
import secrets
from collections.abc import Collection, Sequence
from typing import Any
from urllib.parse import urlsplit

import httpx2

from comfyfleet.db import PoolTx, TenantTx
from comfyfleet.kernel.errors import InvalidInput, NotFound, Refused
from comfyfleet.kernel.ids import EndpointId
from comfyfleet.kernel.page import Page, PageRequest
from comfyfleet.kernel.secret import Secret
from comfyfleet.webhooks import sql
from comfyfleet.webhooks.addresses import Network, require_reachable
from comfyfleet.webhooks.model import Endpoint, WebhookType

ENDPOINTS_MAX = 20
URL_CHARS_MAX = 2_000
SECRET_BYTES = 24
# That a job names it again is written down once in so long.
NAMED_FRESH_S = 86_400.0


class TooManyEndpoints(Refused):
    """A tenant has as many endpoints as it may have."""

    code = "too_many_endpoints"
    text = "There are {endpoints_max} endpoints already. Delete one first."

    def __init__(self) -> None:
        super().__init__(endpoints_max=ENDPOINTS_MAX)


async def add_endpoint(
    tx: TenantTx,
    *,
    url: str,
    description: str = "",
    event_types: Collection[WebhookType] | None = None,
    allowed: Sequence[Network] = (),
) -> Endpoint:
    """`allowed`: networks that it may be in although they are not public."""
    require_reachable(check_url(url), allowed=allowed)
    if (await tx.one(sql.count_endpoints())).total >= ENDPOINTS_MAX:
        raise TooManyEndpoints
    row = await tx.one(
        sql.insert_endpoint(
            url=url,
            description=description,
            secret=_new_secret().reveal(),
            event_types=_names(event_types),
            is_listed=True,
        )
    )
    return Endpoint.from_row(row)


async def endpoint_of_url(tx: TenantTx, url: str, *, secret: Secret) -> EndpointId:
    """For a job that names a URL of its own. One per URL, in no list, and signed with the tenant's own secret.

    One that said 410 once is told again: nobody else could switch it on, and whoever names it wants it told.
    """
    row = await tx.maybe(
        sql.insert_endpoint(url=check_url(url), description="", secret=secret.reveal(), event_types=[], is_listed=False)
    )
    if row is not None:
        return EndpointId(row.id)
    row = await tx.one(sql.unlisted_endpoint(url, fresh_s=NAMED_FRESH_S))
    if not (row.is_fresh and row.is_active and row.secret == secret.reveal()):
        await tx.one(sql.name_endpoint(row.id, secret=secret.reveal()))
    return EndpointId(row.id)


async def list_unnamed(tx: PoolTx, *, age_s: float, rows: int) -> list[EndpointId]:
    """Behind URLs that no job has named for so long: a program may name another one with every job."""
    found = await tx.all(sql.unnamed_endpoints(age_s=age_s + NAMED_FRESH_S, rows=rows))
    return [EndpointId(row.id) for row in found]


async def forget_unnamed(tx: PoolTx, ids: Collection[EndpointId], *, age_s: float) -> int:
    return await tx.run(sql.forget_endpoints(list(ids), age_s=age_s + NAMED_FRESH_S)) if ids else 0


async def find_endpoint(tx: TenantTx, endpoint_id: EndpointId) -> Endpoint:
    row = await tx.maybe(sql.endpoint(endpoint_id))
    if row is None or not row.is_listed:
        raise NotFound("webhook endpoint", endpoint_id)
    return Endpoint.from_row(row)


async def list_endpoints(tx: TenantTx, request: PageRequest) -> Page[Endpoint]:
    rows = await tx.all(sql.endpoint_page(after=request.after, rows=request.rows))
    return Page.cut([Endpoint.from_row(row) for row in rows], [row.id for row in rows], request)


async def change_endpoint(
    tx: TenantTx, endpoint_id: EndpointId, *, allowed: Sequence[Network] = (), **changes: Any
) -> Endpoint:
    """Any of `url`, `description`, `event_types`, `is_active`. Switched on again, it has no reason to be off."""
    await find_endpoint(tx, endpoint_id)
    values = dict(changes)
    if "url" in values:
        require_reachable(check_url(values["url"]), allowed=allowed)
    if "event_types" in values:
        values["event_types"] = _names(values["event_types"])
    if values.get("is_active"):
        values["disabled_reason"] = None
    if not values:
        return await find_endpoint(tx, endpoint_id)
    return Endpoint.from_row(await tx.one(sql.change_endpoint(endpoint_id, values)))


async def rotate_secret(tx: TenantTx, endpoint_id: EndpointId) -> Endpoint:
    """What is sent from now on is signed with the new one."""
    await find_endpoint(tx, endpoint_id)
    return Endpoint.from_row(await tx.one(sql.change_endpoint(endpoint_id, {"secret": _new_secret().reveal()})))


async def delete_endpoint(tx: TenantTx, endpoint_id: EndpointId) -> None:
    """What waits for it is dropped."""
    await find_endpoint(tx, endpoint_id)
    await tx.run(sql.drop_pending(endpoint_id))
    await tx.run(sql.delete_endpoint(endpoint_id))


async def disable_endpoint(tx: TenantTx, endpoint_id: EndpointId, reason: str) -> None:
    """It said that it is gone: what waits for it is dropped, and its tenant reads why."""
    await tx.maybe(sql.change_endpoint(endpoint_id, {"is_active": False, "disabled_reason": reason}))
    await tx.run(sql.drop_pending(endpoint_id))


def check_url(url: str, *, field: str = "url") -> str:
    """Its form. Where it leads is checked whenever a connection is made: a name may lead elsewhere by then."""
    try:
        parts = urlsplit(url)
        port = parts.port
        httpx2.Request("POST", url)  # what the sender could not call is refused before anything is written
    except (ValueError, httpx2.InvalidURL):
        raise InvalidInput(field, "is not a URL that can be called; check its host and port") from None
    if parts.scheme not in ("https", "http") or not parts.hostname or port == 0:
        raise InvalidInput(field, "must begin with https:// (or http://) and name a host")
    if parts.username or parts.password:
        raise InvalidInput(field, "must not hold a user name or password: deliveries are signed instead")
    if parts.fragment or len(url) > URL_CHARS_MAX or any(ord(char) <= 32 for char in url):
        raise InvalidInput(field, f"must have no fragment, no spaces and at most {URL_CHARS_MAX} characters")
    return url


def _new_secret() -> Secret:
    """As the Standard Webhooks write it."""
    return Secret("whsec_" + base64.b64encode(secrets.token_bytes(SECRET_BYTES)).decode())


def _names(event_types: Collection[WebhookType] | None) -> list[str] | None:
    return None if event_types is None else sorted(each.value for each in event_types)
