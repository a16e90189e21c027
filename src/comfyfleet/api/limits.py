"""How often. Windows are kept in this process: a limit holds per replica."""

import ipaddress
import math
import time

from limits import RateLimitItemPerMinute
from limits.aio.storage import MemoryStorage
from limits.aio.strategies import MovingWindowRateLimiter
from starlette.requests import Request

from comfyfleet.kernel.errors import LimitReached


def client_network(request: Request) -> str:
    """Whom to count as one: an address, or for IPv6 its network, for who has one address there has all of it."""
    host = request.client.host if request.client else "unknown"
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return host
    return str(ipaddress.ip_network((address, 64), strict=False)) if address.version == 6 else host


class RateLimits:
    def __init__(self) -> None:
        self._windows = MovingWindowRateLimiter(MemoryStorage())

    async def spend(self, per_minute: int, *who: str) -> None:
        """Count one request of `who`; LimitReached when there were too many in the last minute."""
        limit = RateLimitItemPerMinute(per_minute)
        if not await self._windows.hit(limit, *who):
            window = await self._windows.get_window_stats(limit, *who)
            raise LimitReached(retry_after_s=max(1, math.ceil(window.reset_time - time.time())))
