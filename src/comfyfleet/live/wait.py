"""Wait for a job's end without asking for it again and again: whoever settles it, at whichever replica, wakes this."""

import time
from contextlib import suppress

from comfyfleet.kernel.errors import DatabaseUnavailable
from comfyfleet.live.live import Live
from comfyfleet.live.model import Followed
from comfyfleet.live.subscription import Subscription


async def wait_until_over(live: Live, job: Followed, *, within_s: float) -> bool:
    """False: not in this time, or the server stops. All who wait share one look at the database every two seconds,
    for the case that a hint was lost."""
    ends = time.monotonic() + within_s
    with live.reading(Subscription(previews=False, kinds=frozenset()), job.user_id) as reader:
        live.follow(reader, job)
        with suppress(DatabaseUnavailable):
            await live.states.look([job.job_id])  # it may have ended before anybody listened
        while not any(state.is_over for state in reader.take_states()):
            left_s = ends - time.monotonic()
            if left_s <= 0 or reader.closed:
                return False
            await reader.wait(within_s=left_s)
    return True
