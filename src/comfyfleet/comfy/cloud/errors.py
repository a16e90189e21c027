"""What Comfy Cloud refuses, each with what to do about it. The key is in none of them.

Unauthenticated   KeyMissing  KeyRefused
Forbidden         NotYourJob
Refused           CreditsSpent  SubscriptionInactive
Unavailable       CloudBusy  CloudTrouble  SubmissionUnknown
"""

from comfyfleet.kernel.durations import seconds_text
from comfyfleet.kernel.errors import Forbidden, Refused, Unauthenticated, Unavailable

KEY_VARIABLE = "COMFY_CLOUD_API_KEY"


class KeyMissing(Unauthenticated):
    """There is no key to ask Comfy Cloud with."""

    code = "cloud_key_missing"
    text = "Set {variable} to a Comfy Cloud API key: https://platform.comfy.org/profile/api-keys makes one."

    def __init__(self, variable: str = KEY_VARIABLE) -> None:
        super().__init__(variable=variable)


class KeyRefused(Unauthenticated):
    """Comfy Cloud says 401: the key is revoked or mistyped."""

    code = "cloud_key_refused"
    text = "Comfy Cloud does not know this API key. Make a new one and set {variable}: {said}"

    def __init__(self, *, said: str, variable: str = KEY_VARIABLE) -> None:
        super().__init__(said=said, variable=variable)


class CreditsSpent(Refused):
    """Comfy Cloud says 402: the account cannot pay for this."""

    code = "cloud_credits_spent"
    text = "Comfy Cloud wants credits or another plan for this. Top up the account, then run it again: {said}"

    def __init__(self, *, said: str) -> None:
        super().__init__(said=said)


class SubscriptionInactive(Refused):
    """Comfy Cloud says 429, and no waiting mends it: the plan has no access, or has ended."""

    code = "cloud_subscription_inactive"
    text = "This account's Comfy Cloud plan does not allow running workflows by API. Change or renew it: {said}"

    def __init__(self, *, said: str) -> None:
        super().__init__(said=said)


class NotYourJob(Forbidden):
    """Comfy Cloud says 403: the job is another account's."""

    code = "cloud_not_yours"
    text = (
        "Comfy Cloud does not let this key use {route}: it belongs to another account. Use that account's key: {said}"
    )

    def __init__(self, *, route: str, said: str) -> None:
        super().__init__(route=route, said=said)


class CloudBusy(Unavailable):
    """Comfy Cloud says 429: too many requests or jobs, for longer than we wait."""

    code = "cloud_busy"
    text = "Comfy Cloud takes no more of {route} for now. Try again {when}: {said}"

    def __init__(self, *, route: str, retry_after_s: float | None, said: str) -> None:
        self.retry_after_s = retry_after_s  # None: it does not say
        when = "later" if retry_after_s is None else f"in {seconds_text(retry_after_s)}"
        super().__init__(route=route, retry_after_s=retry_after_s, when=when, said=said)


class CloudTrouble(Unavailable):
    """Comfy Cloud says 5xx: the fault is on its side."""

    code = "cloud_trouble"
    text = "Comfy Cloud has trouble of its own: {route} answered {status}. Trying again later is right: {said}"

    def __init__(self, *, route: str, status: int, said: str) -> None:
        self.status = status
        super().__init__(route=route, status=status, said=said)


class SubmissionUnknown(Unavailable):
    """A prompt may run on Comfy Cloud and cost, or may not: it answered neither the posting nor the looking."""

    code = "cloud_submission_unknown"
    text = (
        "Comfy Cloud may have taken prompt {prompt_id}: the answer was lost, and looking for it failed ({problem}). "
        "Look in its job list for workflow id {prompt_id} before submitting again, so that it is not paid twice."
    )

    def __init__(self, *, prompt_id: str, problem: str) -> None:
        super().__init__(prompt_id=prompt_id, problem=problem)
