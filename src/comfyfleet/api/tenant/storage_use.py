"""How much a tenant keeps, and how much it may."""

from typing import Annotated

from fastapi import APIRouter, Depends

from comfyfleet import storage
from comfyfleet.api.bodies import View
from comfyfleet.api.policy import TenantCaller, TheHouse, home_of
from comfyfleet.tenants import Caller, Scope

router = APIRouter(tags=["files"])


class StorageView(View):
    """Of all users of the tenant. `limit_bytes`: none where there is no limit."""

    used_bytes: int
    limit_bytes: int | None


@router.get("/storage")
async def get_storage(caller: Annotated[Caller, Depends(TenantCaller(Scope.READ))], house: TheHouse) -> StorageView:
    """Uploads on their way and results of jobs count. Past the limit new uploads are refused; results never are."""
    home = home_of(caller)
    async with house.tenant_tx(home, read_only=True) as tx:
        return StorageView(used_bytes=await storage.read_usage(tx), limit_bytes=house.quota_of(home))
