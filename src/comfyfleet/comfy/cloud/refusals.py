"""What an answer that is no success means: the status, and what the body says, made into a typed error. Pure."""

import json
from collections.abc import Mapping
from datetime import datetime

from comfyfleet.comfy.cloud.errors import (
    CloudBusy,
    CloudTrouble,
    CreditsSpent,
    KeyRefused,
    NotYourJob,
    SubscriptionInactive,
)
from comfyfleet.comfy.cloud.retry_after import retry_after_s
from comfyfleet.comfy.errors import UnexpectedAnswer
from comfyfleet.comfy.exchange import Answer
from comfyfleet.kernel.errors import FleetError

SAID_CHARS_MAX = 300
SILENT = "it does not say why"
# 429 says "too fast" and also "your plan does not allow this": only the first is mended by waiting.
PLAN_SIGNS = ("subscription", "free_tier", "free tier", "not paid")


def refusal(answer: Answer, headers: Mapping[str, str], *, now: datetime) -> FleetError:
    code, said = _said(answer.body)
    match answer.status:
        case 401:
            return KeyRefused(said=said)
        case 402:
            return CreditsSpent(said=said)
        case 403:
            return NotYourJob(route=answer.route, said=said)
        case 429 if any(sign in f"{code} {said}".lower() for sign in PLAN_SIGNS):
            return SubscriptionInactive(said=said)
        case 429:
            wait_s = retry_after_s(headers.get("Retry-After"), now=now)
            return CloudBusy(route=answer.route, retry_after_s=wait_s, said=said)
        case status if status >= 500:
            return CloudTrouble(route=answer.route, status=status, said=said)
        case status:
            return UnexpectedAnswer(answer.server, route=answer.route, status=status, problem=said)


def _said(body: bytes) -> tuple[str, str]:
    """Code and message, whichever of the error's shapes it has."""
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        return "", " ".join(body[: 4 * SAID_CHARS_MAX].decode(errors="replace").split())[:SAID_CHARS_MAX] or SILENT
    found = found.get("error", found) if isinstance(found, dict) else found
    if not isinstance(found, dict):
        return "", str(found)[:SAID_CHARS_MAX]
    code = str(found.get("code") or found.get("type") or "")
    return code, str(found.get("message") or found.get("details") or code or SILENT)[:SAID_CHARS_MAX]
