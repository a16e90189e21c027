"""Live events: what workers report on a job's way reaches whoever watches it, at whichever replica."""

from comfyfleet.live.live import Live, Report
from comfyfleet.live.model import ACTIONS, PEOPLE, SCALING, STAGE_OVER, Cursor, Followed, Progress, Told, Waiting
from comfyfleet.live.outbox import Outbox
from comfyfleet.live.states import find_followed
from comfyfleet.live.wait import wait_until_over
from comfyfleet.live.watch import PING, StillValid, watch_job
from comfyfleet.live.watch_user import UserStream, parse_mark

__all__ = [
    "ACTIONS",
    "PEOPLE",
    "PING",
    "SCALING",
    "STAGE_OVER",
    "Cursor",
    "Followed",
    "Live",
    "Outbox",
    "Progress",
    "Report",
    "StillValid",
    "Told",
    "UserStream",
    "Waiting",
    "find_followed",
    "parse_mark",
    "wait_until_over",
    "watch_job",
]
