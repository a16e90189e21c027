"""What may happen to the tokens of one job: reserved, then exactly one of consumed and refunded.

There is no status column to move: each state is the presence of its transaction, each guard a unique index.
"""

from enum import StrEnum

from comfyfleet.kernel.lifecycle import Lifecycle


class ReservationStatus(StrEnum):
    RESERVED = "reserved"
    CONSUMED = "consumed"
    REFUNDED = "refunded"


class ReservationEvent(StrEnum):
    CONSUME = "consume"
    REFUND = "refund"


RESERVATION = Lifecycle(
    "reservation",
    initial=ReservationStatus.RESERVED,
    moves={
        (ReservationStatus.RESERVED, ReservationEvent.CONSUME): ReservationStatus.CONSUMED,
        (ReservationStatus.RESERVED, ReservationEvent.REFUND): ReservationStatus.REFUNDED,
    },
)
