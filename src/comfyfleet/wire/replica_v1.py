"""What replicas say to each other over a WebSocket, as MessagePack. The one that listens connects.

A replica passes on only what its own workers told it: nothing goes round in circles.
"""

from uuid import UUID

import msgspec
from msgspec import Struct

PATH = "/api/replicas/live"
MESSAGE_BYTES_MAX = 16 * 1024**2


class Wanted(Struct, array_like=True):
    """`after`: the last number of the called replica that the caller knows."""

    topic: UUID
    after: int = 0


class Listen(Struct, tag="listen"):
    """What the caller begins to listen to, and what it no longer does. Answered by `CaughtUp` with the same number."""

    number: int
    begin: list[Wanted] = []
    end: list[UUID] = []


class Got(Struct, tag="got"):
    """All batches up to this one reached those who read them there."""

    number: int


class Said(Struct, array_like=True):
    topic: UUID
    number: int
    before: int
    kind: str
    data: bytes
    at: float


class Batch(Struct, tag="batch"):
    """`changed`: hints; the caller looks into the database."""

    number: int
    events: list[Said] = []
    changed: list[UUID] = []


class CaughtUp(Struct, tag="caught_up"):
    """Everything from before has been sent."""

    number: int


ToCalled = Listen | Got
ToCaller = Batch | CaughtUp

encode = msgspec.msgpack.Encoder().encode
decode_called = msgspec.msgpack.Decoder(ToCalled).decode
decode_caller = msgspec.msgpack.Decoder(ToCaller).decode
