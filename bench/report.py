"""What was measured, against what was promised."""

import json
import os
from collections.abc import Mapping
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


@dataclass
class Report:
    """One bench: what it promises, and what was found. `scale` says how much of it was measured."""

    name: str
    scale: str
    targets: Mapping[str, Target]
    figures: dict[str, float | None] = field(default_factory=dict)
    absolute: dict[str, Any] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.figures = dict.fromkeys(self.targets) | self.figures

    def add(self, found: Mapping[str, float | None]) -> None:
        for name, value in found.items():
            (self.figures if name in self.targets else self.absolute)[name] = value

    def ratio(self, name: str, above: float, below: float) -> None:
        self.figures[name] = above / below

    def as_json(self) -> str:
        facts = {name: _rounded(value) for name, value in self.figures.items()}
        targets = {
            name: {"target": str(target), "met": target.met(self.figures[name])}
            for name, target in self.targets.items()
        }
        machine = {"cores": os.cpu_count(), "load_average": os.getloadavg()[0]}
        absolute = {name: _rounded(value) for name, value in self.absolute.items()}
        return json.dumps(
            {
                **facts,
                "targets": targets,
                "absolute": {**absolute, **machine},
                "scale": self.scale,
                "notes": self.notes,
            }
        )

    def show(self, console: Console) -> None:
        table = Table(title=f"{self.name} ({self.scale})")
        for heading in ("figure", "what", "measured", "target", "met"):
            table.add_column(heading)
        for name, target in self.targets.items():
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
