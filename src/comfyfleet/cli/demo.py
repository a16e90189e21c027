"""`comfyfleet demo`: the demo's effects, ordered and watched as a user's program would."""

import asyncio
import os
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import typer

from comfyfleet.api.logs import configure_logs
from comfyfleet.bootstrap import public_url
from comfyfleet.cli.demo_screen import Screen, print_ledger, print_played
from comfyfleet.cli.output import print_json
from comfyfleet.client import AsyncClient
from comfyfleet.client.access import KEY_VARIABLE
from comfyfleet.demo.catalogue import EVERY_EFFECT, DemoEffect, SampleName
from comfyfleet.demo.plan import Plan, make_plan
from comfyfleet.demo.play import Played, play, read_ledger
from comfyfleet.kernel.errors import InvalidInput, NotFound, Unavailable
from comfyfleet.settings import load_settings

KEY_FILE = "demo.key"
FAILED = 1


class NoDemo(NotFound):
    """Nobody has set up a demo here."""

    code = "no_demo"
    text = "There is no demo in {name}. Start `comfyfleet up` there first, or name a server: --url and " + KEY_VARIABLE


class NothingToPlay(Unavailable):
    """None of the demo's effects can be played here now."""

    code = "nothing_to_play"
    text = "Nothing of the demo can run at {url}. {reasons}"


def run_demo(*, url: str | None, home: Path | None, names: Sequence[str], out: Path, as_json: bool) -> None:
    configure_logs("auto", "critical")
    chosen = _chosen(names)
    address, key = demo_access(url, home)
    plan = asyncio.run(_plan(address, key, chosen))
    if not plan.effects:
        raise NothingToPlay(url=address, reasons=plan.reasons)
    screen = Screen(plan.effects, quiet=as_json)
    played, ledger = asyncio.run(_play(address, key, plan.effects, out, screen))
    balance, rows = ledger
    if as_json:
        print_json(_as_json(address, out, plan, played, balance, rows))
    else:
        print_played(played)
        print_ledger(rows, balance=balance, jobs={each.job_id: each.effect for each in played})
        for left_out in plan.left_out:
            typer.echo(f"Left out: {left_out.effect} ({left_out.reason})")
        typer.echo(f"Results are in {out}/")
    if any(each.error is not None for each in played):
        raise typer.Exit(FAILED)


async def _plan(url: str, key: str, chosen: Sequence[DemoEffect]) -> Plan:
    async with AsyncClient(url, key) as fleet:
        return await make_plan(fleet, chosen, tell=lambda words: typer.echo(words, err=True))


def _chosen(names: Sequence[str]) -> list[DemoEffect]:
    known = {each.slug: each for each in EVERY_EFFECT}
    for name in names:
        if name not in known:
            raise InvalidInput("--effect", f"{name!r} is none of {', '.join(known)}")
    return [each for each in EVERY_EFFECT if not names or each.slug in names]


def demo_access(url: str | None, home: Path | None) -> tuple[str, str]:
    """Where `up` runs and the key it made; a server that is named needs a key that is given."""
    given = {"home": home} if home is not None else {}
    settings = load_settings(**given)
    if key := os.environ.get(KEY_VARIABLE):
        return url or public_url(settings), key
    path = settings.home / KEY_FILE
    try:
        return url or public_url(settings), path.read_text().strip()
    except OSError:
        raise NoDemo("demo", settings.home.resolve()) from None


async def _play(
    url: str, key: str, effects: Sequence[DemoEffect], out: Path, screen: Screen
) -> tuple[list[Played], tuple[int, list[dict[str, Any]]]]:
    with tempfile.TemporaryDirectory(prefix="comfyfleet-demo-") as folder, screen:
        samples = await asyncio.to_thread(_draw_samples, Path(folder), {each.sample for each in effects})
        async with AsyncClient(url, key) as fleet:
            played = await play(fleet, effects, samples=samples, folder=out, tell=screen.hear)
    return played, await read_ledger(url, key)


def _draw_samples(folder: Path, wanted: set[SampleName | None]) -> dict[SampleName, Path]:
    if not wanted - {None}:
        return {}
    from comfyfleet.demo.samples import CLIP, PICTURE, draw_clip, draw_picture  # loads NumPy and PyAV

    drawn: dict[SampleName, Path] = {}
    if "picture" in wanted:
        drawn["picture"] = draw_picture(folder / PICTURE)
    if "clip" in wanted:
        drawn["clip"] = draw_clip(folder / CLIP)
    return drawn


def _as_json(
    url: str, out: Path, plan: Plan, played: Sequence[Played], balance: int, rows: Sequence[Any]
) -> dict[str, Any]:
    jobs = {each.job_id for each in played}
    return {
        "url": url,
        "folder": str(out),
        "jobs": [
            {
                "effect": each.effect,
                "job_id": each.job_id,
                "credits_cost": each.credits_cost,
                "waited_s": round(each.waited_s, 3),
                "ran_s": round(each.ran_s, 3),
                "error": each.error,
                "files": [
                    {
                        "path": str(file.path),
                        "mime_type": file.output.mime_type,
                        "size": file.output.size,
                        "sha256": file.sha256,
                    }
                    for file in each.saved
                ],
            }
            for each in played
        ],
        "left_out": [{"effect": each.effect, "reason": each.reason} for each in plan.left_out],
        "ledger": [row for row in rows if row.get("job_id") in jobs],
        "balance": balance,
    }
