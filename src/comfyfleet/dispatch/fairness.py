"""Start-time fair queuing inside a lane. Pure: `sql.advance_shares` does the same sums in one statement.

Each tenant has a finish tag in each lane: where its last queued job would end if the lane were its own, in seconds
of GPU time over its weight. The next job starts there, or at the lane's own "now", whichever is later; whoever has
the smallest start tag goes first. So a tenant that queues much queues behind itself, not before others.
"""

from collections.abc import Sequence


def share_cost(cost_s: float, weight: int) -> float:
    """How far a job moves its tenant on: twice the weight, half the way."""
    return cost_s / weight


def virtual_now(head_tag: float | None, latest_finish: float | None) -> float:
    """Where the lane stands: at whoever is next; in an empty lane at the latest end anybody has, so all start level.

    A row that was leased before and came back keeps its old place, and is no head here: time does not run backwards.
    """
    if head_tag is not None:
        return head_tag
    return latest_finish if latest_finish is not None else 0.0


def finish_tag(finish: float | None, now: float, cost: float) -> float:
    """Where a tenant's share stands after jobs of this cost in all."""
    return now + cost if finish is None else max(finish + cost, now + cost)


def start_tags(finish: float, costs: Sequence[float]) -> list[float]:
    """Jobs queued together, one after the other up to where the share then stands."""
    start, tags = finish - sum(costs), []
    for cost in costs:
        tags.append(start)
        start += cost
    return tags
