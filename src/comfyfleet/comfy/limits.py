"""How much and how long we read from a server, route by route. Nothing a server sends is read without one of these."""

from dataclasses import dataclass

KIB = 1024
MIB = 1024 * KIB
GIB = 1024 * MIB


@dataclass(frozen=True, slots=True)
class Limits:
    look_s: float = 5.0  # queue, history, jobs: the health check's time for one request
    submit_s: float = 60.0  # validation opens no files, but a server may be in the middle of a collection
    object_info_s: float = 60.0
    upload_s: float = 3600.0
    view_s: float = 3600.0
    idle_s: float = 60.0  # between two chunks of a file
    words_bytes: int = 1 * MIB  # short answers, and errors
    refusal_bytes: int = 16 * MIB  # validation repeats the values it refuses
    queue_bytes: int = 64 * MIB  # a queue holds the whole graphs of all that wait
    history_bytes: int = 64 * MIB
    object_info_bytes: int = 128 * MIB  # 1.6 MB bare; many custom nodes list every file of every model folder
    view_bytes: int = 8 * GIB


DEFAULT_LIMITS = Limits()
