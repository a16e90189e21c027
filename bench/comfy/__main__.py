"""`make bench NAME=comfy`: progress on stderr; on stdout a table, or with `--json` one object and nothing else."""

import argparse
import sys
from importlib.util import find_spec

import structlog
from rich.console import Console

from bench.comfy.parts import PARTS, measure_part
from bench.comfy.targets import TARGETS
from bench.report import Report


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make bench NAME=comfy ARGS=…", description=__doc__)
    parser.add_argument("--json", action="store_true", help="one JSON object on stdout")
    parser.add_argument("--quick", action="store_true", help="a smaller run, under a minute")
    parser.add_argument("--only", default=",".join(PARTS), help="some of: %(default)s")
    return parser.parse_args()


def main() -> None:
    given = arguments()
    structlog.configure(logger_factory=structlog.PrintLoggerFactory(sys.stderr))
    report = Report("comfy", "quick" if given.quick else "full", TARGETS)
    for name in given.only.split(","):
        if find_spec(f"bench.comfy.{name}") is None:
            report.notes.append(f"there is no part {name!r}")
            continue
        print(f"{name} …", file=sys.stderr, flush=True)
        report.add(measure_part(name, quick=given.quick))
    if given.json:
        print(report.as_json())
    else:
        report.show(Console())


if __name__ == "__main__":
    main()
