"""What is found when an invariant is asked for."""

from dataclasses import dataclass, field
from typing import Any, Literal, Self

# Of each invariant so many offending rows are named; all are counted.
SHOWN_MAX = 20

# An invariant's code, and what it says.
About = tuple[str, str]
State = Literal["ok", "violated", "noted", "unchecked"]


@dataclass
class Offenders:
    """Counts all, keeps the first few."""

    count: int = 0
    rows: list[dict[str, Any]] = field(default_factory=list)

    def add(self, **row: Any) -> None:
        self.count += 1
        if len(self.rows) < SHOWN_MAX:
            self.rows.append(row)


@dataclass(frozen=True, slots=True)
class Finding:
    """One invariant in one database. `noted`: rows that an operator may want to see, and that break nothing."""

    code: str
    says: str
    database: str
    state: State
    count: int = 0
    rows: list[dict[str, Any]] = field(default_factory=list)

    @classmethod
    def of(cls, about: About, database: str, offenders: Offenders, *, breaks: bool = True) -> Self:
        state: State = "ok" if not offenders.count else "violated" if breaks else "noted"
        return cls(*about, database, state, offenders.count, offenders.rows)
