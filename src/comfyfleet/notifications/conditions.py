"""The conditions that operators are notified of. The same as the rules for Prometheus (`tools/observe_rules.py`), as
far as the databases know them; a test compares the two. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

# An alert resolves when its condition has not held for twice the time that it took to fire, and at least this long.
RESOLVE_S_MIN = 300.0


class Severity(StrEnum):
    """`page`: somebody should look now. `ticket`: somebody should look today."""

    PAGE = "page"
    TICKET = "ticket"


@dataclass(frozen=True, slots=True)
class AlertCondition:
    """`for_s`: how long it must hold before an alert fires. `subject`: what an alert of it is about, if it has one."""

    name: str
    severity: Severity
    for_s: float
    summary: str
    subject: str | None = None

    @property
    def resolve_s(self) -> float:
        return max(RESOLVE_S_MIN, 2 * self.for_s)

    @property
    def runbook(self) -> str:
        """A path in the repository of comfyfleet, as the rules for Prometheus name it."""
        return f"docs/runbooks/{self.name}.md"


CONDITIONS: Mapping[str, AlertCondition] = {
    each.name: each
    for each in (
        AlertCondition("JobsStartLate", Severity.PAGE, 0.0, "Fewer than 99 % of jobs start within 60 s."),
        AlertCondition(
            "JobsFail", Severity.PAGE, 0.0, "Fewer than 99.5 % of jobs succeed; faults of users are not counted."
        ),
        AlertCondition(
            "WebhooksLate", Severity.PAGE, 0.0, "Fewer than 99 % of webhooks that arrive do so within 5 minutes."
        ),
        AlertCondition(
            "NoWorkers",
            Severity.PAGE,
            300.0,
            "Jobs wait, and no worker that may take them has been heard of.",
            "fleet or workflow",
        ),
        AlertCondition(
            "OldestJobWaits", Severity.PAGE, 300.0, "A job has waited for half of the queue deadline.", "workflow"
        ),
        AlertCondition(
            "LeasesExpire",
            Severity.PAGE,
            600.0,
            "More than 5 % of leases run out: workers die, or cannot reach the control plane.",
        ),
        AlertCondition(
            "SettlementsParked",
            Severity.PAGE,
            0.0,
            "Settlements cannot be applied: jobs ended, and their tenants do not know.",
        ),
        AlertCondition("RelayLags", Severity.PAGE, 300.0, "A relay is more than 60 s behind.", "pool and relay"),
        AlertCondition(
            "UpkeepSilent",
            Severity.PAGE,
            60.0,
            "A loop of upkeep has not succeeded at any replica for more than five of its intervals.",
            "loop",
        ),
        AlertCondition(
            "AuditAlarm",
            Severity.PAGE,
            0.0,
            "An audit chain does not hold. Credits are stopped until an operator acknowledges it.",
        ),
        AlertCondition("DatabaseAway", Severity.PAGE, 120.0, "The database of a pool does not answer.", "database"),
        AlertCondition("DiskFull", Severity.TICKET, 600.0, "Less than 5 % of a disk is free.", "place and replica"),
        AlertCondition(
            "ScalingHeld",
            Severity.PAGE,
            300.0,
            "A fleet has fewer machines than its load asks for, and something holds them back.",
            "fleet",
        ),
        AlertCondition(
            "ScalingSilent",
            Severity.PAGE,
            120.0,
            "No replica decides how many machines a fleet should have.",
            "fleet",
        ),
        AlertCondition(
            "SpotLost", Severity.TICKET, 0.0, "A fleet has lost more than a fifth of its machines to Spot.", "fleet"
        ),
    )
}

# Alerts of Prometheus that cannot be evaluated from the databases, and why.
ONLY_IN_PROMETHEUS: Mapping[str, str] = {
    "WorkerApiSlow": "the durations of calls are counted in each process, and kept in no database",
    "DatabasePoolExhausted": "connections are those of one process, at one moment",
    "LaunchesFail": "why launches failed is counted by class in each process; ScalingHeld tells of what lasts",
}
