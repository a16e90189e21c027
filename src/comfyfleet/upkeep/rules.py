"""The settings of upkeep, as values."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from comfyfleet.notifications import AlertTimes
from comfyfleet.webhooks.addresses import Network


@dataclass(frozen=True, slots=True)
class UpkeepRules:
    retention_s: float = 30 * 86_400.0
    # Networks that webhooks may reach although they are not public.
    webhook_networks: tuple[Network, ...] = ()
    # The region whose CloudWatch gets the seeds' metrics; none: they are not published.
    cloudwatch_region: str | None = None
    # Where what runs make is copied to, if anywhere.
    mirror: Path | None = None
    # How often fleets that scale are looked at.
    scaling_every_s: float = 10.0
    alerts_every_s: float = 60.0
    alert_times: AlertTimes = field(default_factory=AlertTimes)
    # Where this process writes, by a name for each.
    folders: Callable[[], Mapping[str, Path]] = dict
