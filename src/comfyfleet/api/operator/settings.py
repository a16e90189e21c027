"""The settings that this replica runs with, without its secrets."""

from typing import Any

from fastapi import APIRouter

from comfyfleet.api.bodies import View
from comfyfleet.api.operator.policies import SEE
from comfyfleet.api.policy import TheOptions

router = APIRouter(prefix="/settings")


class SettingView(View):
    """`source`: `default`, `environment`, `file`, `command line`; `given` by the program that started it. A secret has
    no value here; `is_set` says whether there is one."""

    name: str
    value: Any
    source: str
    description: str
    is_secret: bool
    is_set: bool


class SettingList(View):
    settings: list[SettingView]


@router.get("", dependencies=SEE)
async def get_settings(options: TheOptions) -> SettingList:
    """All settings in force at this replica, with where each came from."""
    return SettingList(settings=[SettingView.model_validate(each) for each in options.settings])
