"""The seed's loop, in a time of its own: each run submits every 10 s if it has nothing under way, and polls every 5 s.

No server takes part: it is counted as if submitting, polling and storing took no time at all.
"""

import heapq
import random

SUBMIT_EVERY_S, POLL_EVERY_S = 10.0, 5.0
SUBMIT, POLL, FREE = 0, 1, 2


def seed_workers_fed(*, runs: int, workers: int, job_s: float, seconds: float, seed: int = 1) -> float:
    """Share of worker time with work."""
    chance = random.Random(seed)
    events = [(chance.uniform(0, SUBMIT_EVERY_S), SUBMIT, run) for run in range(runs)]
    events += [(chance.uniform(0, POLL_EVERY_S), POLL, run) for run in range(runs)]
    heapq.heapify(events)
    idle, busy_s = workers, 0.0
    waiting: list[int] = []
    under_way: set[int] = set()
    done: set[int] = set()
    while events:
        at, kind, run = heapq.heappop(events)
        if at >= seconds:
            break
        if kind == SUBMIT:
            if run not in under_way:
                under_way.add(run)
                waiting.append(run)
            heapq.heappush(events, (at + SUBMIT_EVERY_S, SUBMIT, run))
        elif kind == POLL:
            if run in done:
                done.discard(run)
                under_way.discard(run)
            heapq.heappush(events, (at + POLL_EVERY_S, POLL, run))
        else:
            idle += 1
            done.add(run)
        while idle and waiting:
            taken = waiting.pop(0)
            idle -= 1
            busy_s += min(job_s, seconds - at)
            heapq.heappush(events, (at + job_s, FREE, taken))
    return busy_s / (workers * seconds)
