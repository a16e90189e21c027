"""Tables whose columns are made for people: names instead of ids, ages instead of times."""

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from comfyfleet.cli.output import console
from comfyfleet.kernel.durations import seconds_text

Columns = Mapping[str, Callable[[Any], object]]

# As wide as a table is: a cell broken in two can be neither read nor copied.
wide = Console(highlight=False, width=2_000)
SHORT_CHARS = 12


def print_table(title: str, rows: Sequence[Any], columns: Columns) -> None:
    table = Table(title=title, title_justify="left", header_style="bold", show_edge=False, pad_edge=False)
    for name in columns:
        table.add_column(name, no_wrap=True)
    for row in rows:
        table.add_row(*(escape(_text(read(row))) for read in columns.values()))
    wide.print(table)
    if not rows:
        console.print("[dim]none[/]")


def print_facts(facts: Mapping[str, object]) -> None:
    """One thing, a line a fact."""
    sheet = Table.grid(padding=(0, 2))
    for name, value in facts.items():
        sheet.add_row(f"[dim]{name}[/]", escape(_text(value)))
    console.print(sheet)


def ago(at: datetime | None) -> str | None:
    """How long since, or until, in the largest unit that says something."""
    if at is None:
        return None
    # Only for the eye: nothing is decided by this machine's clock.
    seconds = (datetime.now(UTC) - at).total_seconds()
    told = seconds_text(int(abs(seconds)))
    return f"{told} ago" if seconds > -1 else f"in {told}"


def short(structure_hash: str) -> str:
    """Enough to tell one from another, and to name it by."""
    return structure_hash[:SHORT_CHARS]


def _text(value: object) -> str:
    if isinstance(value, datetime):
        return value.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    return "-" if value is None or value == "" else str(value)
