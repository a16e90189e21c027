"""`comfyfleet audit`: is anything wrong?"""

import dataclasses
from collections import defaultdict
from typing import Any

import typer
from rich.table import Table

from comfyfleet import checks
from comfyfleet.checks import Finding
from comfyfleet.cli.output import console, print_json
from comfyfleet.cli.running import in_house

VIOLATED, UNCHECKED = 1, 6
COLOURS = {"ok": "green", "violated": "bold red", "noted": "yellow", "unchecked": "yellow"}


def run_audit(*, as_json: bool) -> None:
    findings = in_house(checks.check_everything)
    if as_json:
        print_json([dataclasses.asdict(each) for each in findings])
    else:
        _print_table(findings)
        _print_rows(findings)
    states = {each.state for each in findings}
    if "violated" in states:
        raise typer.Exit(VIOLATED)
    if "unchecked" in states:
        raise typer.Exit(UNCHECKED)


def _print_table(findings: list[Finding]) -> None:
    """A line an invariant, over all databases."""
    by_code: dict[str, list[Finding]] = defaultdict(list)
    for each in findings:
        by_code[each.code].append(each)
    table = Table(title="Invariants", title_justify="left", header_style="bold", show_edge=False, pad_edge=False)
    for column in ("", "what must hold", "result"):
        table.add_column(column, overflow="fold")
    for code, found in sorted(by_code.items(), key=lambda each: _order(each[0])):
        table.add_row(code, found[0].says, _result(found))
    console.print(table)


def _order(code: str) -> tuple[int, int, str]:
    """V1, V1b, V2 … V10, then the X, then the A."""
    digits = "".join(letter for letter in code[1:] if letter.isdigit())
    return "VXA".find(code[0]), int(digits), code


def _result(found: list[Finding]) -> str:
    said = [_say(each) for each in found if each.state != "ok"]
    return ", ".join(said) if said else "[green]ok[/]"


def _say(finding: Finding) -> str:
    text = "does not answer" if finding.state == "unchecked" else f"{finding.state} {finding.count}"
    return f"[{COLOURS[finding.state]}]{finding.database}: {text}[/]"


def _print_rows(findings: list[Finding]) -> None:
    for each in findings:
        if each.count == 0:
            continue
        more = f" (the first {len(each.rows)} of {each.count})" if each.count > len(each.rows) else ""
        console.print(f"\n[{COLOURS[each.state]}]{each.code}[/] {each.database}: {each.says}{more}")
        for row in each.rows:
            # Not through Rich: an id is there to be copied, whatever the width of the terminal.
            typer.echo(f"  {_line(row)}")


def _line(row: dict[str, Any]) -> str:
    return " ".join(f"{name}={'-' if value is None else value}" for name, value in row.items())
