"""`make bench NAME=worker`: progress on stderr; on stdout a table, or with `--json` one object and nothing else."""

import argparse
import asyncio
import signal
import sys

import structlog
from rich.console import Console

from bench.dispatch.ground import Ground, migrate, stand_on, temporary_folder
from bench.report import Report
from bench.worker.figures import FIGURES, Bench
from bench.worker.scale import FULL, QUICK, Scale
from bench.worker.site import open_site
from bench.worker.targets import BESIDE, TARGETS


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make bench NAME=worker ARGS=…", description=__doc__)
    parser.add_argument("--json", action="store_true", help="one JSON object on stdout")
    parser.add_argument("--quick", action="store_true", help="a smaller run, under four minutes")
    parser.add_argument("--only", default=",".join(FIGURES), help="some of: %(default)s")
    return parser.parse_args()


def main() -> None:
    given = arguments()
    scale = QUICK if given.quick else FULL
    report = Report("worker", scale.name, TARGETS, figures=dict.fromkeys(BESIDE))
    structlog.configure(logger_factory=structlog.PrintLoggerFactory(sys.stderr))
    signal.signal(signal.SIGTERM, _end)
    with temporary_folder() as folder, stand_on(folder) as ground:
        asyncio.run(migrate(ground))
        measure(ground, scale, report, given.only.split(","))
    if given.json:
        print(report.as_json())
    else:
        report.show(Console())


def measure(ground: Ground, scale: Scale, report: Report, only: list[str]) -> None:
    with open_site(ground) as site:
        for name in only:
            FIGURES[name](Bench(site, scale, report))


def _end(*_: object) -> None:
    """As Ctrl-C: the processes beside this one end with it."""
    sys.exit(1)


if __name__ == "__main__":
    main()
