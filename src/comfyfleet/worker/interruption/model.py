"""A reason to leave, and how long it leaves us."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Notice:
    """`reason` stands in the requeue and in the log. `seconds_left`: until the machine or the process is taken away;
    None: nobody presses, what runs may end; 0: leave now, give everything back.

    Several may come, one after the other: the shortest time counts, and a later one never lengthens it.
    """

    reason: str
    seconds_left: float | None = None

    @property
    def leaves_now(self) -> bool:
        return self.seconds_left is not None and self.seconds_left <= 0

    def is_sooner_than(self, other: "Notice | None") -> bool:
        """It changes something: there was none before, or it leaves less time."""
        if other is None:
            return True
        if self.seconds_left is None:
            return False
        return other.seconds_left is None or self.seconds_left < other.seconds_left


OPERATOR_DRAIN = Notice("drained by an operator")
