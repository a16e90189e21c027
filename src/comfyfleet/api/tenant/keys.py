"""A user's own API keys."""

from datetime import datetime
from typing import Annotated, Literal

from fastapi import APIRouter, Depends
from pydantic import Field

from comfyfleet import tenants
from comfyfleet.api.bodies import Body, View, page_request
from comfyfleet.api.policy import TenantCaller, TheHouse
from comfyfleet.kernel.errors import Forbidden
from comfyfleet.kernel.ids import KeyId
from comfyfleet.kernel.page import PageRequest
from comfyfleet.tenants import Caller, Scope, credentials

router = APIRouter(prefix="/keys", tags=["keys"])

LIFETIME_S_MAX = 10 * 365 * 86_400


class NewKeyBody(Body):
    name: Annotated[str, Field(min_length=1, max_length=100)]
    scopes: list[Literal["read", "write", "manage"]] = Field(["read", "write"], min_length=1, max_length=3)
    expires_in_s: Annotated[int, Field(ge=60, le=LIFETIME_S_MAX)] | None = None


class KeyView(View):
    """`made_via`: null for a key from before this was noted."""

    id: KeyId
    name: str
    prefix: str
    scopes: list[Scope]
    expires_at: datetime | None
    revoked_at: datetime | None
    last_used_at: datetime | None
    created_at: datetime
    made_via: Literal["key", "session", "command_line"] | None


class ListedKeyView(KeyView):
    """`made_with`: how many keys that still work were made with it, or with those: they go when it is revoked."""

    made_with: int


class RevokedKeyView(KeyView):
    """`also_revoked`: how many keys that were made with it, or with those, went with it."""

    also_revoked: int


class NewKeyView(View):
    key: KeyView
    secret: str
    """Shown this once; only its hash is kept."""


class KeyPage(View):
    keys: list[ListedKeyView]
    next_cursor: str | None


@router.get("")
async def get_keys(
    caller: Annotated[Caller, Depends(TenantCaller(Scope.READ))],
    house: TheHouse,
    page: Annotated[PageRequest, Depends(page_request)],
) -> KeyPage:
    """Your own keys, newest first; never their secrets."""
    async with house.control_tx(read_only=True) as tx:
        found = await credentials.list_keys(tx, caller.user_id, page)
        made_with = await credentials.count_made_with(tx, caller.user_id, [key.id for key in found.rows])
    rows = [
        ListedKeyView(**KeyView.model_validate(key).model_dump(), made_with=made_with[key.id]) for key in found.rows
    ]
    return KeyPage(keys=rows, next_cursor=found.next_cursor)


@router.post("", status_code=201)
async def create_key(
    body: NewKeyBody, caller: Annotated[Caller, Depends(TenantCaller(Scope.WRITE))], house: TheHouse
) -> NewKeyView:
    """A key never gets more than the credential that makes it has, nor, if a key makes it, a longer life."""
    scopes = frozenset(Scope(scope) for scope in body.scopes)
    if beyond := scopes - caller.scopes:
        raise Forbidden(f"Your own credential lacks {sorted(beyond)}, so the new key cannot have it.")
    async with house.control_tx() as tx:
        user = await tenants.get_user(tx, caller.user_id)
        made = await credentials.create_key(
            tx,
            user,
            name=body.name,
            scopes=scopes,
            lifetime_s=body.expires_in_s,
            not_after=caller.expires_at if caller.via == "key" else None,
            made_via=caller.via,
            made_by=caller.credential,
        )
    return NewKeyView(key=KeyView.model_validate(made.key), secret=made.secret.reveal())


@router.post("/{key_id}/revoke")
async def revoke_key(
    key_id: KeyId,
    caller: Annotated[Caller, Depends(TenantCaller(Scope.WRITE, even_suspended=True))],
    house: TheHouse,
) -> RevokedKeyView:
    """Stop a key of yours, and every key that was made with it, at once and for good."""
    async with house.control_tx() as tx:
        done = await credentials.revoke_key(tx, key_id, owner=caller.user_id)
    return RevokedKeyView(**KeyView.model_validate(done.key).model_dump(), also_revoked=done.also_revoked)
