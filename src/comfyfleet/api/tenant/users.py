"""A tenant's admin invites and disables its users."""

from typing import Annotated, Literal

from fastapi import APIRouter, Depends

from comfyfleet import tenants
from comfyfleet.api.auth import Email, link_ttl_s, send_or_show_link
from comfyfleet.api.bodies import Body, page_request
from comfyfleet.api.policy import TenantCaller, TheHouse, TheOptions, home_of
from comfyfleet.api.views import InviteView, UserPage, UserView
from comfyfleet.kernel.errors import Forbidden
from comfyfleet.kernel.ids import UserId
from comfyfleet.kernel.page import PageRequest
from comfyfleet.tenants import Caller, Role, Scope, credentials

router = APIRouter(prefix="/users", tags=["users"])

Manager = Annotated[Caller, Depends(TenantCaller(Scope.MANAGE))]


class InviteBody(Body):
    email: Email
    role: Literal["member", "admin"] = "member"


@router.get("")
async def get_users(caller: Manager, house: TheHouse, page: Annotated[PageRequest, Depends(page_request)]) -> UserPage:
    """Your tenant's users, newest first."""
    async with house.control_tx(read_only=True) as tx:
        found = await tenants.list_users(tx, home_of(caller).tenant_id, page)
    return UserPage(users=[UserView.model_validate(user) for user in found.rows], next_cursor=found.next_cursor)


@router.post("", status_code=201)
async def invite_user(body: InviteBody, caller: Manager, house: TheHouse, options: TheOptions) -> InviteView:
    """Invite somebody into your tenant by a one-time link."""
    async with house.control_tx() as tx:
        user = await tenants.create_user(
            tx, email=body.email, role=Role(body.role), tenant_id=home_of(caller).tenant_id
        )
        link = await credentials.make_link(tx, user, ttl_s=options.invite_ttl_s)
    house.live.people_changed()
    return await send_or_show_link(house, user, house.links.url(link))


@router.post("/{user_id}/link")
async def renew_link(user_id: UserId, caller: Manager, house: TheHouse, options: TheOptions) -> InviteView:
    """A new invitation, or for an active user a password reset. Older links stop working."""
    async with house.control_tx() as tx:
        user = await tenants.get_user_of(tx, home_of(caller).tenant_id, user_id)
        link = await credentials.make_link(tx, user, ttl_s=link_ttl_s(options, user))
    return await send_or_show_link(house, user, house.links.url(link))


@router.post("/{user_id}/disable")
async def disable_user(user_id: UserId, caller: Manager, house: TheHouse) -> UserView:
    """Keys stop at once; sessions and links end for good."""
    if user_id == caller.user_id:
        raise Forbidden("You cannot disable yourself. Ask another admin.")
    async with house.control_tx() as tx:
        user = await tenants.disable_user(tx, user_id, within=home_of(caller).tenant_id)
    house.live.people_changed()
    return UserView.model_validate(user)


@router.post("/{user_id}/enable")
async def enable_user(user_id: UserId, caller: Manager, house: TheHouse) -> UserView:
    """Active again, or invited again if they never chose a password: then send a new link."""
    async with house.control_tx() as tx:
        user = await tenants.enable_user(tx, user_id, within=home_of(caller).tenant_id)
    house.live.people_changed()
    return UserView.model_validate(user)
