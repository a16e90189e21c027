"""What the pages tell readers to run: each fence says why no test runs it, and the files that are named exist.

Pages are run as they are written by `test_docs_run.py` and `test_docs_how_to.py`.
"""

import re
from collections import Counter

import pytest

from tests.journeys.docs_pages import ROOT, RUN, Fence, fences
from tests.journeys.docs_promises import missing, real_ids
from tests.journeys.test_docs_how_to import STAGES
from tests.journeys.test_docs_run import PAGES

HOW_TOS = sorted(str(path.relative_to(ROOT)) for path in (ROOT / "docs" / "how-to").glob("*.md"))
# Fences that no test runs, by page. Before you raise a number: can it not be run?
NOT_RUN = {
    "docs/how-to/credit-from-a-shop.md": 1,
    "docs/how-to/embed-the-pool.md": 2,
    "docs/how-to/get-notified.md": 4,
    "docs/how-to/receive-webhooks.md": 1,
    "docs/how-to/run-a-fleet.md": 5,
    "docs/how-to/run-machines-on-aws.md": 2,
    "docs/how-to/run-a-worker.md": 4,
    "docs/how-to/run-in-production.md": 5,
    "docs/how-to/simulate-a-fleet.md": 1,
    "docs/how-to/trace-jobs.md": 2,
    "docs/how-to/use-comfy-cloud.md": 2,
    "docs/how-to/use-the-python-sdk.md": 5,
    "docs/how-to/watch-with-prometheus.md": 2,
}


def runnable(page: str) -> list[Fence]:
    return [fence for fence in fences(page) if fence.kind in RUN]


def test_each_fence_is_run_or_says_why_not() -> None:
    run = {f"docs/how-to/{page}.md" for page in STAGES}
    silent = [fence.name for page in {*HOW_TOS} - run for fence in runnable(page) if fence.not_run is None]
    assert silent == [], "no test runs these: mark the fences, or give the page a stage in test_docs_how_to.py"
    counted = Counter(fence.page for page in (*PAGES, *HOW_TOS) for fence in runnable(page) if fence.not_run)
    assert dict(counted) == NOT_RUN


def test_the_files_that_pages_name_exist() -> None:
    for page in (*PAGES, *HOW_TOS):
        for named in re.findall(r"(?<![\w/])(examples/[\w.-]+)", (ROOT / page).read_text()):
            assert (ROOT / named).is_file(), (page, named)


WALLET = "500 tokens credited; a@b.test has 500."
TABLE = "worker ┃ seen\n━━━━━━━╇━━━━━━\ngpu-1  │ 4 s ago"
JOB = "01a1df45-ed8c-7325-a911-68880a949e85"


@pytest.mark.parametrize(
    ("promised", "said", "kept"),
    [
        (WALLET, f"{WALLET}\n", True),
        (WALLET, "500 tokens credited; a@b.test has 400.", False),
        (WALLET, f"{WALLET}\nAnd a line that the page does not show.", False),
        (f"{WALLET}\n…", f"{WALLET}\nAnd a line that the page leaves out.", True),
        (f"{WALLET}\nA second line.", f"A second line.\n{WALLET}", False),
        (TABLE, "worker  ┃ seen   \n━━━━━━━━╇━━━━━━━\ngpu-1   │ 31 s ago", True),
        (TABLE, "worker  ┃ state  \n━━━━━━━━╇━━━━━━━\ngpu-1   │ 31 s ago", False),
        ("Created tenant x (01a1df4d-…).", "Created tenant x (01a1df45-ed8c-7325-a911-68880a949e85).", True),
        ("Created tenant x (01a1df4d-…).", "Created tenant x (none).", False),
        (
            f"job {JOB}\ndone: {JOB}",
            "job 01b2df45-ed8c-7325-a911-688800000000\ndone: 01b2df45-ed8c-7325-a911-688800000000",
            True,
        ),
        (
            f"job {JOB}\ndone: {JOB}",
            "job 01b2df45-ed8c-7325-a911-688800000000\ndone: 01c3df45-ed8c-7325-a911-688800000000",
            False,
        ),
        ('{"status": "ready", "n": 1}', '{"status":"ready","n":1}', True),
        ('{"status": "ready", "n": 1}', '{"status":"ready","n":2}', False),
        ('{"status": "ready"}', '{"status":"ready","more":1}', False),
        ('{"status": "ready", …}', '{"status":"ready","more":1}', True),
        ('{"token": "qYGUpm6…", "left_s": 3599.23}', '{"token":"8_x-abcdef","left_s":3598.1}', True),
        ('{"token": "qYGUpm6…"}', '{"token":null}', False),
    ],
)
def test_a_promise_that_is_not_kept_is_seen(promised: str, said: str, kept: bool) -> None:
    assert (missing(promised, said, {}) == []) is kept


def test_an_id_of_the_page_stands_for_the_one_that_was_printed() -> None:
    ids: dict[str, str] = {}
    assert missing(f"Created job {JOB}.", "Created job 01b2df45-ed8c-7325-a911-688800000000.", ids) == []
    assert real_ids(f"comfyfleet dispatches show {JOB}", ids).endswith(" 01b2df45-ed8c-7325-a911-688800000000")
