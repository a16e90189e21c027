"""`comfyfleet simulate`: how a control plane does under many workers and many jobs, on this machine."""

import contextlib
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import httpx2
import typer
import uvloop
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from comfyfleet.api.logs import configure_logs
from comfyfleet.cli.output import print_json
from comfyfleet.cli.tables import print_facts
from comfyfleet.kernel.durations import seconds_text
from comfyfleet.kernel.errors import InvalidInput, Unavailable
from comfyfleet.settings import PREFIX
from comfyfleet.simulate.plan import Plan
from comfyfleet.simulate.run import ledger_is_exact, simulate
from comfyfleet.simulate.tally import Figures, Tally, figures_of

KEY_VARIABLE = f"{PREFIX}OPERATOR_KEY"
START_WITHIN_S = 60.0
STOP_WITHIN_S = 20.0
WRONG = 1
# Limits of a server that many share are in the way of a simulation.
PLENTY = 1_000_000_000


class PlaneDidNotStart(Unavailable):
    """The control plane of the simulation's own did not come up."""

    code = "control_plane_not_started"
    text = "The temporary control plane did not start: {said}"


def run_simulation(plan: Plan, *, control_plane: str | None, as_json: bool) -> None:
    configure_logs("auto", "critical")
    _allow_many_connections()
    if control_plane is not None:
        key = os.environ.get(KEY_VARIABLE)
        if not key:
            raise InvalidInput("--control-plane", f"needs an operator's key in {KEY_VARIABLE}")
        _simulate(plan, control_plane, key, home=None, as_json=as_json)
        return
    with tempfile.TemporaryDirectory(prefix="comfyfleet-simulate-") as folder:
        home = Path(folder) / "home"
        with _own_plane(home, plan) as url:
            _simulate(plan, url, (home / "operator.key").read_text().strip(), home=home, as_json=as_json)


def _simulate(plan: Plan, url: str, key: str, *, home: Path | None, as_json: bool) -> None:
    tally = Tally()

    async def work() -> bool:
        with _bar(plan, quiet=as_json) as tell:
            stage = await simulate(url, key, plan, tally, tell)
        return await ledger_is_exact(stage, tally)

    exact = uvloop.run(work())
    figures = figures_of(tally, plan)
    clean = _audit_is_clean(home) if home is not None else None
    if as_json:
        print_json({**figures.as_json(), "ledger_exact": exact, "audit_clean": clean})
    else:
        _print_figures(figures, exact=exact, clean=clean)
    if not exact or clean is False or figures.completed != plan.jobs:
        raise typer.Exit(WRONG)


@contextlib.contextmanager
def _bar(plan: Plan, *, quiet: bool) -> Iterator["_Bar"]:
    console = Console(stderr=True, highlight=False, quiet=quiet)
    progress = Progress(
        TextColumn("[bold]{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[now]}", style="dim"),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        console=console,
        disable=quiet or not console.is_terminal,
    )
    with progress:
        yield _Bar(progress, plan)


class _Bar:
    def __init__(self, progress: Progress, plan: Plan) -> None:
        self._progress = progress
        self._ordered = progress.add_task("ordered", total=plan.jobs, now="")
        self._ended = progress.add_task("completed", total=plan.jobs, now="")
        self._began = time.monotonic()

    def __call__(self, tally: Tally) -> None:
        running = len(tally.runs) - len(tally.ended)
        rate = len(tally.ended) / max(time.monotonic() - self._began, 0.001)
        self._progress.update(self._ordered, completed=len(tally.ordered), now=f"{sum(tally.waiting.values())} wait")
        self._progress.update(self._ended, completed=len(tally.ended), now=f"{running} run, {rate:.0f}/s")


def _print_figures(figures: Figures, *, exact: bool, clean: bool | None) -> None:
    def seconds(value: float | None) -> str | None:
        return None if value is None else seconds_text(value)

    def share(value: float | None) -> str | None:
        return None if value is None else f"{value:.1%}"

    print_facts(
        {
            "completed": f"{figures.completed} of {figures.jobs} in {seconds_text(figures.seconds)}",
            "failed": figures.failed,
            "run twice": figures.repeated,
            "leases lost, given back": f"{figures.lost_leases}, {figures.given_back}",
            "throughput": f"{figures.jobs_per_s:.1f} jobs/s with {figures.workers} workers",
            "orders taken": f"{figures.orders_per_s:.1f} /s",
            "GPU busy while work waits": share(figures.gpu_busy_share),
            "idle between two jobs, p50, p99": _milliseconds(figures.idle_p50_ms, figures.idle_p99_ms),
            "wait of a job, p50, p99": _times(figures.wait_p50_s, figures.wait_p99_s),
            "wait of the latecomer, p50, p99": _times(figures.late_wait_p50_s, figures.late_wait_p99_s),
            "fairness between tenants": None if figures.fairness is None else f"{figures.fairness:.3f} (1 is even)",
            "ledger": "exact" if exact else "WRONG",
            "audit": None if clean is None else "clean" if clean else "WRONG: something is not as it must be",
        }
    )


def _milliseconds(first: float | None, second: float | None) -> str | None:
    """Between two jobs a GPU idles for so short a time that tenths of a second would hide it."""
    return None if first is None or second is None else f"{first:.0f} and {second:.0f} milliseconds"


def _times(first: float | None, second: float | None) -> str | None:
    return None if first is None or second is None else f"{seconds_text(first)}, {seconds_text(second)}"


# ── a control plane of its own ──


@contextlib.contextmanager
def _own_plane(home: Path, plan: Plan) -> Iterator[str]:
    """`comfyfleet up` without its neighbours, in a folder that goes away, with limits that are not in the way."""
    home.parent.joinpath("log").touch()
    with home.parent.joinpath("log").open("wb") as log:
        process = subprocess.Popen(  # noqa: S603 ourselves
            [sys.executable, "-m", "comfyfleet", "up", "--no-engine", "--home", str(home), "--port", "0"],
            env=_environment(plan),
            cwd=home.parent,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
        )
    try:
        yield _wait_for(process, home)
    finally:
        process.terminate()
        try:
            process.wait(STOP_WITHIN_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _environment(plan: Plan) -> dict[str, str]:
    limits = {
        "MAX_FLEET_WORKERS": plan.workers,
        "REGISTRATIONS_PER_MINUTE": PLENTY,
        "REQUESTS_PER_MINUTE_PER_KEY": PLENTY,
        "REQUESTS_PER_MINUTE_PER_TENANT": PLENTY,
        "LOGINS_PER_MINUTE": PLENTY,
        "MAX_ACTIVE_JOBS_PER_USER": 10_000,
        "LOG_LEVEL": "warning",
    }
    kept = {name: value for name, value in os.environ.items() if not name.upper().startswith(PREFIX)}
    return {**kept, **{f"{PREFIX}{name}": str(value) for name, value in limits.items()}}


def _wait_for(process: subprocess.Popen[bytes], home: Path) -> str:
    until = time.monotonic() + START_WITHIN_S
    while time.monotonic() < until and process.poll() is None:
        with contextlib.suppress(OSError, httpx2.HTTPError):
            url = (home / "address").read_text().strip()
            if (home / "operator.key").exists() and httpx2.get(f"{url}/readyz", timeout=5).status_code == 200:
                return url
        time.sleep(0.05)
    raise PlaneDidNotStart(said=home.parent.joinpath("log").read_text(errors="replace")[-500:])


def _audit_is_clean(home: Path) -> bool:
    """The whole of it: every invariant over everything that this simulation has left behind."""
    command = [sys.executable, "-m", "comfyfleet", "audit", "--json"]
    kept = {name: value for name, value in os.environ.items() if not name.upper().startswith(PREFIX)}
    environment = {**kept, f"{PREFIX}HOME": str(home)}
    done = subprocess.run(command, env=environment, cwd=home.parent, capture_output=True, check=False)  # noqa: S603
    return done.returncode == 0


def _allow_many_connections() -> None:
    """Three for each worker here, and as many at the other end."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
