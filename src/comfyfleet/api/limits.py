"""How often. Windows are kept in this process: a limit holds per replica."""

import ipaddress
import math
import time
from collections import deque

from limits import RateLimitItemPerMinute
from limits.aio.storage import MemoryStorage
from limits.aio.strategies import MovingWindowRateLimiter
from starlette.requests import Request

from comfyfleet.kernel.errors import LimitReached

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


class Windows(MemoryStorage):
    """The library's own goes through all keys at every request, and through a thread for each of them."""

    def __init__(self) -> None:
        super().__init__()
        self._times: dict[str, deque[float]] = {}
        self._tidied_at = time.time()

    async def acquire_entry(self, key: str, limit: int, expiry: int, amount: int = 1) -> bool:
        now = time.time()
        if now - self._tidied_at > TIDY_EVERY_S:
            self._tidy(now - expiry)
        times = self._within(key, now - expiry)
        if len(times) + amount > limit:
            return False
        times.extend([now] * amount)
        self._times[key] = times
        return True

    async def get_moving_window(self, key: str, limit: int, expiry: int) -> tuple[float, int]:
        now = time.time()
        times = self._within(key, now - expiry)
        return (times[0] if times else now), len(times)

    def _within(self, key: str, since: float) -> deque[float]:
        times = self._times.get(key)
        if times is None:
            return deque()
        while times and times[0] < since:
            times.popleft()
        return times

    def _tidy(self, since: float) -> None:
        """All windows here are as long as each other: who was last seen before this one began has an empty one."""
        self._tidied_at = time.time()
        self._times = {key: times for key, times in self._times.items() if times and times[-1] >= since}


class RateLimits:
    def __init__(self) -> None:
        self._windows = MovingWindowRateLimiter(Windows())

    async def spend(self, per_minute: int, *who: str) -> None:
        """Count one request of `who`; LimitReached when there were too many in the last minute."""
        limit = RateLimitItemPerMinute(per_minute)
        if not await self._windows.hit(limit, *who):
            window = await self._windows.get_window_stats(limit, *who)
            raise LimitReached(retry_after_s=max(1, math.ceil(window.reset_time - time.time())))
