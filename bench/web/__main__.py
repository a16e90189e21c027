"""`make bench NAME=web`: progress on stderr; on stdout a table, or with `--json` one object and nothing else."""

import argparse
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx2
import structlog
import uvloop
from rich.console import Console
from rich.progress import Progress

from bench.dispatch.ground import Ground, migrate, stand_on, temporary_folder
from bench.jobs.studio import settings_of, user_id
from bench.pipelines.studio import open_pipeline, start_run
from bench.report import Report
from bench.web.browse import Visitor, a_browser
from bench.web.scale import FULL, QUICK, Scale
from bench.web.stock import add_day, add_jobs, add_tree
from bench.web.targets import TARGETS
from comfyfleet.bootstrap import OPERATOR_EMAIL
from tests.server import ServerProcess, free_port

NAME = "web"
VISITOR, PASSWORD = "user-0@example.com", "a password for measurements"
FIGURES = ("load", "history", "tree", "timeline")


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make bench NAME=web ARGS=…", description=__doc__)
    parser.add_argument("--json", action="store_true", help="one JSON object on stdout")
    parser.add_argument("--quick", action="store_true", help="fewer repetitions, under four minutes")
    parser.add_argument("--only", default=",".join(FIGURES), help="some of: %(default)s")
    return parser.parse_args()


async def furnish(ground: Ground, scale: Scale, progress: Progress) -> tuple[dict[str, str], str]:
    """Databases and store filled; what a server on them needs, and the run to look at."""
    task = progress.add_task("filling the databases", total=None)
    await migrate(ground)
    async with open_pipeline(ground, NAME) as (studio, house, pipeline, _):
        run_id = await start_run(studio, house, pipeline, 0, variants=5, top=20, concurrency=5)
        await add_tree(studio, house, user_id(0), run_id, scale.pictures)
        add_jobs(studio, user_id(0), scale.jobs)
        add_day(studio, workers=scale.workers, rows=scale.blocks)
        settings = settings_of(studio.central_url, studio.pool_url)
    progress.update(task, total=1, completed=1)
    # As it is shipped: what a page asks for must stay within the limits.
    limited = {name: value for name, value in settings.items() if not name.startswith("REQUESTS_PER_MINUTE")}
    # Nothing of this ever worked: loops that look after it would only be in the way.
    return {**limited, "UPKEEP": "false", "LOGINS_PER_MINUTE": "1000"}, str(run_id)


@contextmanager
def serve(ground: Ground, settings: dict[str, str]) -> Iterator[ServerProcess]:
    server = ServerProcess(ground.folder / NAME, free_port(), settings)
    try:
        server.start()
        for email in (VISITOR, OPERATOR_EMAIL):
            server.command("users", "set-password", email, "--password-stdin", stdin=PASSWORD)
        yield server
    finally:
        server.kill()


def session_of(server: ServerProcess, email: str) -> dict[str, Any]:
    answer = httpx2.post(f"{server.url}/api/auth/login", json={"email": email, "password": PASSWORD})
    answer.raise_for_status()
    name, _, value = answer.headers["set-cookie"].split(";")[0].partition("=")
    # A `__Host-` cookie is taken from https only; it is sent to localhost all the same.
    url = f"https://localhost:{server.port}"
    return {"name": name, "value": value, "url": url, "httpOnly": True, "secure": True, "sameSite": "Lax"}


def measure(
    server: ServerProcess, run_id: str, scale: Scale, report: Report, only: list[str], progress: Progress
) -> None:
    url = f"http://localhost:{server.port}"
    with a_browser() as browser:
        visitor = Visitor(browser, url, session_of(server, VISITOR))
        operator = Visitor(browser, url, session_of(server, OPERATOR_EMAIL))
        if "load" in only:
            task = progress.add_task("first load", total=None)
            report.add(
                {"first_load_kb": visitor.first_load_kb(), "interactive_s": visitor.interactive_s(scale.repetitions)}
            )
            progress.update(task, total=1, completed=1)
        if "history" in only:
            task = progress.add_task(f"history of {scale.jobs:,} jobs", total=None)
            report.add({"history_ms": visitor.history_ms(scale.repetitions)})
            progress.update(task, total=1, completed=1)
        pages = {
            "tree": (
                visitor,
                f"/runs/{run_id}",
                f"Number(document.querySelector('[data-testid=tree] canvas')?.dataset.drawn) >= {scale.pictures}",
            ),
            "timeline": (operator, "/console/timeline", "document.querySelector('main canvas')"),
        }
        for what, (who, path, ready) in pages.items():
            if what not in only:
                continue
            task = progress.add_task(f"frames: {what}", total=None)
            moved, empty = who.frames(path, what, ready=ready, repetitions=scale.repetitions, seconds=scale.seconds)
            report.ratio(f"{what}_fps_ratio", moved, empty)
            report.add({f"{what}_fps": moved, f"{what}_empty_fps": empty})
            progress.update(task, total=1, completed=1)
    report.notes.append(
        "Chromium without a GPU; frames by requestAnimationFrame, a turn of the wheel or a scroll each, by turns with"
        " an empty page; first_load_kb: document, scripts and styles of the first page; history_ms: from the click"
    )


def main() -> None:
    given = arguments()
    scale = QUICK if given.quick else FULL
    report = Report("web", scale.name, TARGETS)
    structlog.configure(logger_factory=structlog.PrintLoggerFactory(sys.stderr))
    progress = Progress(console=Console(stderr=True))
    with temporary_folder() as folder, stand_on(folder) as ground, progress:
        settings, run_id = uvloop.run(furnish(ground, scale, progress))
        with serve(ground, settings) as server:
            measure(server, run_id, scale, report, given.only.split(","), progress)
    if given.json:
        print(report.as_json())
    else:
        report.show(Console())


if __name__ == "__main__":
    main()
