"""What the bench of jobs says, and that what it orders and writes is what the product takes and keeps."""

import json
import re
import time

import pytest
import sqlalchemy as sa

from bench.jobs import raw, stock
from bench.jobs.create import order_bytes
from bench.jobs.events import Measured
from bench.jobs.figures import FIGURES
from bench.jobs.scale import FULL, QUICK
from bench.jobs.studio import GRAPH, PROPERTIES, Round, key_of
from bench.jobs.targets import TARGETS
from bench.report import Report
from comfyfleet.api.tenant.jobs import NewJobBody
from comfyfleet.db.tables import ai_jobs, submissions, token_transactions, videos
from comfyfleet.workflows import choose, fill_graph, prepare_version, read_properties

WRITTEN = re.compile(r"INSERT INTO (\w+) \(([^)]+)\)")


def test_the_json_names_every_figure_measured_or_not() -> None:
    report = Report("jobs", QUICK.name, TARGETS)
    report.add({"create_growth": 1.2, "create_vs_raw": 0.4, "event_p50_ms": 3.0})
    said = json.loads(report.as_json())
    assert set(TARGETS) <= set(said)
    assert (said["create_growth"], said["targets"]["create_growth"]["met"]) == (1.2, False)
    assert (said["create_vs_raw"], said["targets"]["create_vs_raw"]["met"]) == (0.4, True)
    assert (said["memory_growth"], said["targets"]["memory_growth"]["met"]) == (None, None)
    assert said["absolute"]["event_p50_ms"] == 3.0
    assert len(FIGURES) == len(TARGETS)


def test_the_full_run_measures_what_was_promised() -> None:
    assert (FULL.small, FULL.large, FULL.few, FULL.many) == (1_000, 1_000_000, 1_000, 100_000)


def test_what_is_ordered_fits_the_effect_that_is_sold() -> None:
    head, _, body = order_bytes(7).partition(b"\r\n\r\n")
    assert f"Bearer {key_of(7)}".encode() in head
    asked = NewJobBody.model_validate_json(body)
    version = prepare_version(json.dumps(GRAPH).encode(), properties=read_properties(PROPERTIES), output_node="7")
    chosen = choose(version.properties, {}, asked.properties, fixed=(), random_seed=5)
    graph = fill_graph(GRAPH, version.properties, chosen)
    assert graph["2"]["inputs"]["text"] == asked.properties["prompt"]
    assert graph["5"]["inputs"]["seed"] == 5
    assert order_bytes(7) != order_bytes(7), "each order needs a key of its own"


@pytest.mark.parametrize("statement", [raw.JOB, raw.VIDEO, raw.RESERVE, raw.SUBMIT, stock.JOBS, stock.VIDEOS])
def test_bare_statements_write_whole_rows_of_our_tables(statement: str) -> None:
    tables: dict[str, sa.Table] = {each.name: each for each in (ai_jobs, submissions, token_transactions, videos)}
    found = WRITTEN.search(statement)
    assert found is not None
    table, named = tables[found[1]], {name.strip() for name in found[2].split(",")}
    needed = {column.name for column in table.c if not column.nullable}
    assert needed <= named <= set(table.c.keys())


def test_only_events_sent_after_the_warm_up_count() -> None:
    now = time.monotonic()
    measured = Measured(counted_from=now - 1)
    for sent in (now - 5, now - 0.5, now - 0.25):
        measured.take(f'data: {{"step":1,"sent":{sent}}}\n'.encode())
    assert len(measured.delays_s) == 2
    assert measured.percentile_ms(0.99) >= 500


def test_users_come_in_turn() -> None:
    numbers = Round(3)
    assert [numbers.next() for _ in range(5)] == [0, 1, 2, 0, 1]
