"""`make bench NAME=jobs`: progress on stderr; on stdout a table, or with `--json` one object and nothing else."""

import argparse
import sys

import structlog
import uvloop
from rich.console import Console
from rich.progress import Progress

from bench.dispatch.ground import Ground, migrate, stand_on, temporary_folder
from bench.jobs.figures import FIGURES, Bench
from bench.jobs.scale import FULL, QUICK, Scale
from bench.jobs.targets import TARGETS
from bench.report import Report


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make bench NAME=jobs ARGS=…", description=__doc__)
    parser.add_argument("--json", action="store_true", help="one JSON object on stdout")
    parser.add_argument("--quick", action="store_true", help="a smaller run, under four minutes")
    parser.add_argument("--only", default=",".join(FIGURES), help="some of: %(default)s")
    return parser.parse_args()


async def measure(ground: Ground, scale: Scale, report: Report, only: list[str], progress: Progress) -> None:
    await migrate(ground)
    for name in only:
        await FIGURES[name](Bench(ground, scale, report, progress))


def main() -> None:
    given = arguments()
    scale = QUICK if given.quick else FULL
    report = Report("jobs", scale.name, TARGETS)
    structlog.configure(logger_factory=structlog.PrintLoggerFactory(sys.stderr))
    progress = Progress(console=Console(stderr=True))
    with temporary_folder() as folder, stand_on(folder) as ground, progress:
        uvloop.run(measure(ground, scale, report, given.only.split(","), progress))
    if given.json:
        print(report.as_json())
    else:
        report.show(Console())


if __name__ == "__main__":
    main()
