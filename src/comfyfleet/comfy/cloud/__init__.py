"""Comfy Cloud (cloud.comfy.org) as one more server: `CloudConnector`."""

from comfyfleet.comfy.cloud.client import CLOUD_URL, CloudLimits, checked_url
from comfyfleet.comfy.cloud.connector import CloudConnector, CloudSettings, key_from_environment
from comfyfleet.comfy.cloud.watch import Polling

__all__ = [
    "CLOUD_URL",
    "CloudConnector",
    "CloudLimits",
    "CloudSettings",
    "Polling",
    "checked_url",
    "key_from_environment",
]
