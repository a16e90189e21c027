"""A run as it is seen: a bar for each step, and the best of its tree."""

from __future__ import annotations

import time
from collections import defaultdict
from itertools import islice
from typing import TYPE_CHECKING

import typer
from rich.console import Console, Group
from rich.live import Live
from rich.markup import escape
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn
from rich.text import Text
from rich.tree import Tree

from comfyfleet.cli.output import console

if TYPE_CHECKING:
    from comfyfleet.client import Candidate, Client, Run, RunStep

LOOK_EVERY_S = 1.0
# Of each step the best so many: a tree of a thousand is for the contact sheet.
SHOWN_A_STEP = 100
LINES_MAX = 30
CHILDREN_MAX = 6
SHOWN_SCORES = ("sharpness", "exposure", "unique")
COLOURS = {
    "completed": "green",
    "failed": "red",
    "stopped": "red",
    "paused": "yellow",
    "waiting_for_approval": "yellow",
}


def print_run(client: Client, run: Run) -> None:
    console.print(render(run, read_tree(client, run)))


def watch_run(client: Client, run_id: str, *, quiet: bool) -> Run:
    """Until it rests: it is over, paused, or waits for a person."""
    screen = Console(stderr=True, highlight=False, quiet=quiet)
    run = client.runs.read(run_id)
    if quiet or not screen.is_terminal:
        return _wait(client, run, screen)
    tree, seen = read_tree(client, run), _counts(run)
    try:
        with Live(render(run, tree), console=screen, refresh_per_second=4) as live:
            while not run.rests:
                time.sleep(LOOK_EVERY_S)
                run = client.runs.read(run_id)
                if _counts(run) != seen:
                    tree, seen = read_tree(client, run), _counts(run)
                live.update(render(run, tree))
    except KeyboardInterrupt:
        typer.echo(f"Stopped watching; the run goes on. Watch it: comfyfleet runs watch {run_id}", err=True)
    return run


def _wait(client: Client, run: Run, screen: Console) -> Run:
    """Without a terminal: a line where something changed."""
    told = ""
    while True:
        line = f"{run.status}: " + ", ".join(f"{step.name} {step.made}" for step in run.steps)
        if line != told:
            screen.print(line, markup=False)
            told = line
        if run.rests:
            return run
        time.sleep(LOOK_EVERY_S)
        run = client.runs.read(run.id)


def _counts(run: Run) -> tuple[object, ...]:
    return tuple((step.made, step.alive, step.votes, step.top) for step in run.steps)


def read_tree(client: Client, run: Run) -> list[Candidate]:
    """The best of each step, the best first."""
    found: list[Candidate] = []
    for step in run.steps:
        if step.alive:
            found += islice(client.runs.ranking(run.id, step.position), SHOWN_A_STEP)
    return found


def render(run: Run, tree: list[Candidate]) -> Group:
    colour = COLOURS.get(run.status, "cyan")
    why = f" ({run.status_reason})" if run.status_reason else ""
    head = Text.from_markup(f"[bold]{escape(run.name)}[/]  [{colour}]{run.status}{escape(why)}[/]")
    return Group(head, Text(_spending(run), style="dim"), _bars(run), _drawn(run, tree))


def _spending(run: Run) -> str:
    of_tokens = f" of {run.tokens_max}" if run.tokens_max is not None else ""
    of_jobs = f" of {run.jobs_max}" if run.jobs_max is not None else ""
    ends = f", until {run.ends_at:%Y-%m-%d %H:%M} UTC" if run.ends_at is not None else ""
    return f"{run.tokens_spent}{of_tokens} tokens, {run.jobs_started}{of_jobs} jobs, {run.in_flight} under way{ends}"


def _bars(run: Run) -> Progress:
    bars = Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=30),
        TaskProgressColumn("{task.completed:.0f}/{task.total:.0f}"),
        TextColumn("{task.fields[more]}", markup=False),
    )
    for step in run.steps:
        total = max(expected(run, step), step.made + step.in_flight)
        bars.add_task(f"{step.position + 1} {step.name}", total=total, completed=step.made, more=_gate(run, step))
    return bars


def expected(run: Run, step: RunStep) -> int:
    """As many as its parents may have, as far as that is known."""
    if step.position == 0:
        return step.variants
    before = run.steps[step.position - 1]
    parents = min(before.top or run.top, before.alive or expected(run, before))
    wanted = parents * step.variants
    is_last = step.position == len(run.steps) - 1
    return min(wanted, run.finals) if is_last and run.finals is not None else wanted


def _gate(run: Run, step: RunStep) -> str:
    told = [f"{step.in_flight} under way"] if step.in_flight else []
    told += [f"{step.failures} failed"] if step.failures else []
    if step.position < len(run.steps) - 1:
        by = (step.approved_by or "").partition(":")
        told.append(f"gate open for {step.top} ({by[0] if by[1] else 'approved'})" if step.top else "gate closed")
    return ", ".join(told)


def _drawn(run: Run, tree: list[Candidate]) -> Tree:
    below: dict[str | None, list[Candidate]] = defaultdict(list)
    shown = {each.id for each in tree}
    for each in tree:
        below[each.parent_id if each.parent_id in shown else None].append(each)
    root = Tree("[dim]the best first[/]", guide_style="dim")
    lines = 0
    waiting = [(root, each) for each in reversed(below[None])]
    while waiting and lines < LINES_MAX:
        branch, candidate = waiting.pop()
        leaf = branch.add(_line(run, candidate))
        lines += 1
        children = below[candidate.id][:CHILDREN_MAX]
        waiting += [(leaf, child) for child in reversed(children)]
    if len(tree) > lines:
        root.add(f"[dim]… and {sum(step.alive for step in run.steps) - lines} more: comfyfleet runs export[/]")
    return root


def _line(run: Run, candidate: Candidate) -> str:
    scores = candidate.scores or {}
    told = "".join(f"  {name} {scores[name]:g}" for name in SHOWN_SCORES if name in scores)
    passed = "" if candidate.is_passed else "  passed over"
    step = escape(run.steps[candidate.position].name)
    votes = "1 vote" if candidate.votes == 1 else f"{candidate.votes} votes"
    return f"{step}  [bold]Elo {candidate.elo:.0f}[/]  {votes}[dim]{told}{passed}  {candidate.id}[/]"
