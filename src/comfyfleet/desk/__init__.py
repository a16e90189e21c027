"""The desk where workers are served: it brings fleet and queue together, for many callers at once."""

from comfyfleet.desk.desk import Desk
from comfyfleet.desk.polls import Poll

__all__ = ["Desk", "Poll"]
