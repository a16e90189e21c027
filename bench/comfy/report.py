"""What was measured, against what was promised."""

import json
import os
from dataclasses import dataclass, field
from typing import Any

from rich.console import Console
from rich.table import Table


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
    "hash_vs_sha256": Target("content + structure hash of a 50-node graph ÷ SHA-256 of its bytes", 10),
    "pool_efficiency": Target("Pool.run over 4 engines ÷ their own limit at depth 2", 0.97, at_least=True),
    "pool_cpu_ms": Target("our CPU a job in the pool, ms", 5),
    "idle_200_core_share": Target("200 idle servers connected: share of one core", 0.02),
    "ws_mb_s": Target("progress frames of a 300-node graph handled, MB/s", 50, at_least=True),
}


@dataclass
class Report:
    scale: str
    figures: dict[str, float | None] = field(default_factory=lambda: dict.fromkeys(TARGETS))
    absolute: dict[str, float | None] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def add(self, found: dict[str, float | None]) -> None:
        for name, value in found.items():
            (self.figures if name in TARGETS else self.absolute)[name] = value

    def as_json(self) -> str:
        machine = {"cores": os.cpu_count(), "load_average": os.getloadavg()[0]}
        return json.dumps(
            {
                **{name: _rounded(value) for name, value in self.figures.items()},
                "targets": {
                    name: {"target": str(target), "met": target.met(self.figures[name])}
                    for name, target in TARGETS.items()
                },
                "absolute": {**{name: _rounded(value) for name, value in self.absolute.items()}, **machine},
                "scale": self.scale,
                "notes": self.notes,
            }
        )

    def show(self, console: Console) -> None:
        table = Table(title=f"comfy ({self.scale})")
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


def _shown(value: float | None) -> str:
    if value is None:
        return "–"
    return f"{value:,.3g}" if abs(value) < 1000 else f"{value:,.0f}"
