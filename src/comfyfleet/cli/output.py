"""Tables for people, JSON for programs."""

import dataclasses
import json
from collections.abc import Iterable
from datetime import datetime
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]

console = Console(highlight=False)


def print_rows(title: str, rows: Iterable[Any], columns: list[str], *, as_json: bool) -> None:
    """`rows` are dataclasses; a table shows `columns`, JSON shows everything."""
    found = list(rows)
    if as_json:
        print_json([_plain(row) for row in found])
        return
    table = Table(title=title, title_justify="left", header_style="bold", show_edge=False, pad_edge=False)
    for column in columns:
        # An id is there to be copied: it never breaks.
        table.add_column(column.replace("_", " "), overflow="fold", no_wrap=column == "id")
    for row in found:
        # Escaped: what somebody typed is text, and no markup.
        table.add_row(*(escape(_cell(getattr(row, column))) for column in columns))
    console.print(table)
    if not found:
        console.print("[dim]none[/]")


def print_one(row: Any, *, as_json: bool, sentence: str, **extra: str) -> None:
    """One new or changed thing. `extra` is what the row does not hold, such as a key shown once."""
    if as_json:
        print_json({**_plain(row), **extra})
        return
    print_sentence(sentence)
    for text in extra.values():
        # Not through Rich: a key must come out in one piece, whatever the width of the terminal.
        typer.echo(text)


def print_sentence(sentence: str) -> None:
    # Not wrapped by us: it may hold a command to copy.
    console.print(sentence, markup=False, soft_wrap=True)


def print_json(value: Any) -> None:
    typer.echo(json.dumps(value, indent=2, default=str))


def plain(row: Any) -> dict[str, Any]:
    """A dataclass as JSON shows it, whatever it holds."""
    return _plain(row)


def _plain(row: Any) -> dict[str, Any]:
    return {field.name: _value(getattr(row, field.name)) for field in dataclasses.fields(row)}


def _value(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.isoformat().replace("+00:00", "Z")
    if isinstance(value, frozenset):
        return sorted(value)
    if isinstance(value, list):
        return [_value(each) for each in value]
    if isinstance(value, dict):
        return {str(name): _value(each) for name, each in value.items()}
    if dataclasses.is_dataclass(value):
        return _plain(value)
    return value if value is None or isinstance(value, (bool, int, float, str)) else str(value)


def _cell(value: Any) -> str:
    match value:
        case None:
            return "-"
        case datetime():
            return f"{value:%Y-%m-%d %H:%M}"
        case frozenset():
            return ", ".join(sorted(value))
        case _:
            return str(value)
