"""The whole application in process, on both engines."""

from collections.abc import AsyncIterator

import httpx2
import pytest
from fastapi import FastAPI

from comfyfleet.api.app import build_app
from comfyfleet.bootstrap import build_options
from comfyfleet.house import House
from comfyfleet.settings import Settings
from tests.api.asking import InProcess

WEBHOOK_SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"


@pytest.fixture
def app(house: House, settings: Settings) -> FastAPI:
    shop = settings.model_copy(update={"payment_webhook_secrets": []})
    given = {"payment_webhook_secrets": [WEBHOOK_SECRET], "webhook_networks": ["127.0.0.0/8"]}
    options = build_options(Settings(**{**shop.model_dump(), **given}))
    return build_app(house, options)


@pytest.fixture
async def client(app: FastAPI) -> AsyncIterator[httpx2.AsyncClient]:
    transport = InProcess(app=app, raise_app_exceptions=True)
    async with httpx2.AsyncClient(transport=transport, base_url="http://localhost") as found:
        yield found
