"""`comfyfleet comfy doctor`"""

import asyncio
from pathlib import Path

import typer
from rich.markup import escape
from rich.table import Table

from comfyfleet.cli.output import console, plain, print_json
from comfyfleet.comfy.address import parse_address
from comfyfleet.comfy.doctor import Finding, Verdict, judge, worst
from comfyfleet.comfy.examine import examine
from comfyfleet.comfy.graph import read_workflow

EXIT_CODES = {Verdict.FINE: 0, Verdict.NOTE: 0, Verdict.WARNING: 7, Verdict.PROBLEM: 8}
STYLES = {Verdict.FINE: "green", Verdict.NOTE: "cyan", Verdict.WARNING: "yellow", Verdict.PROBLEM: "bold red"}


def run_doctor(url: str, *, workflow: Path | None, bearer: str | None, as_json: bool) -> None:
    wanted = None if workflow is None else read_workflow(workflow)
    address = parse_address(url, bearer=bearer)
    examined = asyncio.run(examine(address, workflow=wanted))
    findings = judge(examined)
    verdict = worst(findings)
    if as_json:
        print_json(
            {
                "server": address.name,
                "verdict": verdict,
                "facts": plain(examined.facts),
                "findings": [plain(finding) for finding in findings],
            }
        )
    else:
        _print(address.name, findings, verdict)
    raise typer.Exit(EXIT_CODES[verdict])


def _print(server: str, findings: tuple[Finding, ...], verdict: Verdict) -> None:
    table = Table(title=server, title_justify="left", header_style="bold", show_edge=False, pad_edge=False)
    table.add_column("check")
    table.add_column("", no_wrap=True)
    table.add_column("found", overflow="fold")
    for finding in findings:
        style = STYLES[finding.verdict]
        advice = f"\n[dim]→ {escape(finding.advice)}[/]" if finding.advice else ""
        table.add_row(finding.check, f"[{style}]{finding.verdict}[/]", escape(finding.text) + advice)
    console.print(table)
    counted = sum(finding.verdict in (Verdict.WARNING, Verdict.PROBLEM) for finding in findings)
    if EXIT_CODES[verdict] == 0:
        console.print("[green]Nothing to be done.[/]")
    else:
        console.print(f"[{STYLES[verdict]}]To be looked at: {counted}.[/]")
