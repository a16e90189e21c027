"""How often. Windows are kept in this process: a limit holds per replica."""

import math
import time

from limits import RateLimitItemPerMinute
from limits.aio.storage import MemoryStorage
from limits.aio.strategies import MovingWindowRateLimiter

from comfyfleet.kernel.errors import LimitReached


class RateLimits:
    def __init__(self) -> None:
        self._windows = MovingWindowRateLimiter(MemoryStorage())

    async def spend(self, per_minute: int, *who: str) -> None:
        """Count one request of `who`; LimitReached when there were too many in the last minute."""
        limit = RateLimitItemPerMinute(per_minute)
        if not await self._windows.hit(limit, *who):
            window = await self._windows.get_window_stats(limit, *who)
            raise LimitReached(retry_after_s=max(1, math.ceil(window.reset_time - time.time())))
