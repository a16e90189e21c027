"""What may happen to a delivery: tried until it arrives, until its time is over, or until nobody wants it."""

from enum import StrEnum

from comfyfleet.kernel.lifecycle import Lifecycle


class DeliveryStatus(StrEnum):
    PENDING = "pending"
    DELIVERED = "delivered"
    FAILED = "failed"
    DROPPED = "dropped"


class DeliveryEvent(StrEnum):
    ARRIVE = "arrive"
    GIVE_UP = "give_up"
    DROP = "drop"
    REPLAY = "replay"


P, A, F, D = DeliveryStatus.PENDING, DeliveryStatus.DELIVERED, DeliveryStatus.FAILED, DeliveryStatus.DROPPED

DELIVERY = Lifecycle(
    "delivery",
    initial=P,
    moves={
        (P, DeliveryEvent.ARRIVE): A,
        (P, DeliveryEvent.GIVE_UP): F,
        # Its endpoint was deleted, or said that it is gone.
        (P, DeliveryEvent.DROP): D,
        # By hand: the same event again, under the same id.
        (A, DeliveryEvent.REPLAY): P,
        (F, DeliveryEvent.REPLAY): P,
        (D, DeliveryEvent.REPLAY): P,
        (P, DeliveryEvent.REPLAY): P,
    },
)
