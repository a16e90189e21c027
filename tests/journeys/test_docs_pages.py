"""What the pages tell readers to run: each fence says why no test runs it, and the files that are named exist.

The tutorial `first-job` is run as it is written by `test_first_job_tutorial.py`.
"""

import re
from collections import Counter

import pytest

from tests.journeys.docs_pages import ROOT, RUN, Fence, fences, is_told

# The tutorials in an order that is none: each must stand alone.
PAGES = (
    "README.md",
    "docs/tutorials/first-pipeline.md",
    "docs/tutorials/first-job.md",
    "docs/tutorials/first-steps.md",
)
HOW_TOS = sorted(str(path.relative_to(ROOT)) for path in (ROOT / "docs" / "how-to").glob("*.md"))
# Fences that no test runs, by page. Before you raise a number: can it not be run?
NOT_RUN = {
    "README.md": 1,
    "docs/how-to/credit-from-a-shop.md": 2,
    "docs/how-to/embed-the-pool.md": 3,
    "docs/how-to/prepare-a-workflow.md": 1,
    "docs/how-to/receive-webhooks.md": 2,
    "docs/how-to/run-a-fleet.md": 10,
    "docs/how-to/run-a-job-by-http.md": 5,
    "docs/how-to/run-a-worker.md": 4,
    "docs/how-to/run-in-production.md": 5,
    "docs/how-to/run-one-workflow.md": 3,
    "docs/how-to/simulate-a-fleet.md": 2,
    "docs/how-to/use-comfy-cloud.md": 2,
    "docs/how-to/use-the-python-sdk.md": 5,
}


def runnable(page: str) -> list[Fence]:
    return [fence for fence in fences(page) if fence.kind in RUN]


def test_each_fence_is_run_or_says_why_not() -> None:
    silent = [fence.name for page in HOW_TOS for fence in runnable(page) if fence.not_run is None]
    assert silent == [], "how-tos are not run by this test: mark their fences, or run the page"
    counted = Counter(fence.page for page in (*PAGES, *HOW_TOS) for fence in runnable(page) if fence.not_run)
    assert dict(counted) == NOT_RUN


def test_the_files_that_pages_name_exist() -> None:
    for page in (*PAGES, *HOW_TOS):
        for named in re.findall(r"(?<![\w/])(examples/[\w.-]+)", (ROOT / page).read_text()):
            assert (ROOT / named).is_file(), (page, named)


@pytest.mark.parametrize(
    ("line", "said", "told"),
    [
        ("500 tokens credited; a@b.test has 500.", "500 tokens credited; a@b.test has 500.\n", True),
        ("500 tokens credited; a@b.test has 500.", "500 tokens credited; a@b.test has 400.\n", False),
        ("id │ status\n", "id      │ status  \n", True),
        ("Created tenant x (01a1df4d-…) in pool main.", "Created tenant x (01ff-2) in pool main.", False),
        ("job 01a1df45-ed8c-7325-a911-68880a949e85 of x", "job 01b2df45-ed8c-7325-a911-68880a949e86 of x", True),
        ('"status":"approved"', '{"status": "gone"}', False),
    ],
)
def test_a_promise_that_is_not_kept_is_seen(line: str, said: str, told: bool) -> None:
    assert is_told(line, said) is told
