"""What a page must know of this installation before it asks for anything: what it takes, and where tokens come from."""

from typing import Annotated

from fastapi import APIRouter, Depends
from pydantic import Field

from comfyfleet.api.bodies import View
from comfyfleet.api.policy import TenantCaller, TheHouse, TheOptions
from comfyfleet.media.model import MEDIA_TYPES
from comfyfleet.tenants import Scope

router = APIRouter(prefix="/installation", tags=["installation"], dependencies=[Depends(TenantCaller(Scope.READ))])


class InstallationView(View):
    """`get_tokens_text` and `get_tokens_url`: how to get more tokens, where the operators have said so."""

    media_types: list[str]
    upload_bytes_max: int
    image_bytes_max: int
    duration_s_max: Annotated[float, Field(description="Of a film.")]
    get_tokens_text: str | None
    get_tokens_url: str | None


@router.get("")
async def get_installation(house: TheHouse, options: TheOptions) -> InstallationView:
    """Limits of uploads, and the way to more tokens."""
    rules = house.prober.rules
    return InstallationView(
        media_types=list(MEDIA_TYPES),
        upload_bytes_max=options.upload_bytes_max,
        image_bytes_max=min(options.upload_bytes_max, rules.image_bytes_max),
        duration_s_max=rules.duration_s_max,
        get_tokens_text=options.get_tokens_text,
        get_tokens_url=options.get_tokens_url,
    )
