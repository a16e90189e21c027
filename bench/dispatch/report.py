"""What was measured, against what was promised."""

import json
import os
from dataclasses import dataclass, field
from typing import Any

from rich.console import Console
from rich.table import Table

from bench.dispatch.scale import Scale


@dataclass(frozen=True, slots=True)
class Target:
    says: str
    limit: float
    at_least: bool = False

    def met(self, value: float | None) -> bool | None:
        if value is None:
            return None
        return value >= self.limit if self.at_least else value <= self.limit

    def __str__(self) -> str:
        return f"{'≥' if self.at_least else '≤'} {self.limit:g}"


TARGETS: dict[str, Target] = {
    "lease_growth": Target("lease, large queue ÷ small one, 10 lanes", 1.25),
    "lease_growth_adverse": Target("… the backlog others', at higher priority", 1.25),
    "engine_vs_raw": Target("lease + complete, 200 callers ÷ raw pgbench", 5, at_least=True),
    "engine_vs_pgqueuer": Target("… ÷ pgqueuer's drain", 1.5, at_least=True),
    "http_vs_pgqueuer": Target("enqueue → lease → complete over HTTP ÷ pgqueuer's drain", 0.4, at_least=True),
    "http_vs_procrastinate": Target("… ÷ procrastinate's drain", 6, at_least=True),
    "pickup_p50_ms": Target("queued → leased by a waiting poll, p50 ms", 3),
    "pickup_p99_ms": Target("… p99 ms", 12),
    "lease_statements_per_job": Target("lease statements a job", 2),
    "idle_10k_rss_mb": Target("10,000 waiting workers: resident MB", 500),
    "idle_10k_core_share": Target("… share of one core", 0.25),
    "lease_snapshot": Target("lease beside an open snapshot ÷ without", 1.5),
    "sqlite_lease_growth": Target("SQLite lease, large queue ÷ empty one", 1.2),
    "fair_overhead": Target("1,000 tenants with fair tags ÷ one", 1.2),
}


@dataclass
class Report:
    scale: Scale
    figures: dict[str, float | None] = field(default_factory=lambda: dict.fromkeys(TARGETS))
    absolute: dict[str, Any] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def ratio(self, name: str, above: float, below: float) -> None:
        self.figures[name] = above / below

    def as_json(self) -> str:
        facts = {name: _rounded(value) for name, value in self.figures.items()}
        targets = {
            name: {"target": str(target), "met": target.met(self.figures[name])} for name, target in TARGETS.items()
        }
        machine = {"cores": os.cpu_count(), "load_average": os.getloadavg()[0]}
        absolute = {name: _rounded(value) for name, value in self.absolute.items()}
        return json.dumps(
            {
                **facts,
                "targets": targets,
                "absolute": {**absolute, **machine},
                "scale": self.scale.name,
                "notes": self.notes,
            }
        )

    def show(self, console: Console) -> None:
        table = Table(title=f"dispatch ({self.scale.name})")
        for heading in ("figure", "what", "measured", "target", "met"):
            table.add_column(heading)
        for name, target in TARGETS.items():
            met = {True: "yes", False: "no", None: "–"}[target.met(self.figures[name])]
            table.add_row(name, target.says, _shown(self.figures[name]), str(target), met)
        console.print(table)
        for name, value in self.absolute.items():
            console.print(f"  {name}: {_shown(value)}")
        for note in self.notes:
            console.print(f"  note: {note}")


def _rounded(value: Any) -> Any:
    return round(value, 4) if isinstance(value, float) else value


def _shown(value: Any) -> str:
    if value is None:
        return "–"
    return f"{value:,.3g}" if isinstance(value, float) and abs(value) < 1000 else f"{value:,.0f}"
