"""How often. Windows are kept in this process: a limit holds per replica."""

import ipaddress
import math
import time
from collections import deque

from starlette.requests import Request

from comfyfleet.kernel.errors import LimitReached

WINDOW_S = 60.0
TIDY_EVERY_S = 60.0


def client_network(request: Request) -> str:
    """Whom to count as one: an address, or for IPv6 its network, for who has one address there has all of it."""
    return network_of(request.client.host if request.client else "unknown")


def network_of(host: str) -> str:
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return host
    return str(ipaddress.ip_network((address, 64), strict=False)) if address.version == 6 else host


class RateLimits:
    """Moving windows of a minute: the time of each request of the last one."""

    def __init__(self) -> None:
        self._times: dict[tuple[str, ...], deque[float]] = {}
        self._tidied_at = time.monotonic()

    async def spend(self, per_minute: int, *who: str) -> None:
        """Count one request of `who`; LimitReached when there were too many in the last minute."""
        now = time.monotonic()
        if now - self._tidied_at > TIDY_EVERY_S:
            self._tidy(now)
        times = self._times.setdefault(who, deque())
        while times and times[0] <= now - WINDOW_S:
            times.popleft()
        if len(times) >= per_minute:
            # A place is free when the oldest of as many as are allowed has left.
            raise LimitReached(retry_after_s=max(1, math.ceil(times[-per_minute] + WINDOW_S - now)))
        times.append(now)

    def _tidy(self, now: float) -> None:
        """Whose last request has left the window has none."""
        self._tidied_at = now
        self._times = {who: times for who, times in self._times.items() if times and times[-1] > now - WINDOW_S}
