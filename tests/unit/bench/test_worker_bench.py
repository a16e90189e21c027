"""What the bench of the worker says, and that its own parts measure what they claim to."""

import asyncio
import io
import json
import time
from pathlib import Path
from uuid import uuid4

import pytest
from PIL import Image

from bench.report import Report
from bench.worker import memory
from bench.worker.engine import TEMPLATE, BenchWork, Diary
from bench.worker.figures import FIGURES
from bench.worker.link import Exchange, Link, Throttle
from bench.worker.scale import FILE_BYTES, FULL, LINK_BYTES_S, MB, QUICK
from bench.worker.site import GRAPH, PROPERTIES, picture_of
from bench.worker.targets import BESIDE, TARGETS
from bench.worker.timeline import (
    Execution,
    Gap,
    Journey,
    Passed,
    busy_share,
    gaps,
    idle_ms,
    match_fetches,
    percentile_ms,
)
from comfyfleet.engine.folders import Folders
from comfyfleet.engine.history import Entry, History
from comfyfleet.engine.node import Context
from comfyfleet.engine.queue import PromptQueue, Queued
from comfyfleet.workflows import choose, fill_graph, prepare_version, read_properties


def a_journey(began: float, ended: float, *, granted: float, fetched: float, posted: float) -> Journey:
    return Journey(
        granted=granted,
        fetched=Passed(granted, fetched, fetched),
        run=Execution("one", posted, began, ended),
        sent=Passed(ended + 0.01, ended + 0.41, ended + 0.43),
        completed=ended + 0.44,
        visible=ended + 0.47,
    )


def test_the_json_names_every_figure_measured_or_not() -> None:
    report = Report("worker", QUICK.name, TARGETS, figures=dict.fromkeys(BESIDE))
    report.add({"busy_10s": 0.992, "busy_1s": 0.9, "drain_attempts": 0})
    said = json.loads(report.as_json())
    assert {*TARGETS, *BESIDE} <= set(said)
    assert (said["targets"]["busy_10s"]["met"], said["targets"]["busy_1s"]["met"]) == (True, False)
    assert (said["targets"]["drain_attempts"]["met"], said["targets"]["rss_mb"]["met"]) == (True, None)
    assert set(FIGURES) == {"busy", "drain", "memory"}


def test_the_full_run_measures_what_was_promised() -> None:
    assert (FULL.jobs_10s, FULL.jobs_1s, FULL.memory_jobs, FULL.large_bytes) == (60, 60, 10_000, 2_000 * MB)
    assert (QUICK.jobs_10s, QUICK.jobs_1s, QUICK.memory_jobs) == (4, 12, 200)
    assert (FILE_BYTES, LINK_BYTES_S) == (20 * MB, 50 * MB)
    assert memory.parts(250) == [100, 100, 50]


def test_busy_is_the_time_it_executes_of_the_time_between_first_start_and_last_end() -> None:
    runs = [Execution("a", 0, 10.0, 11.0), Execution("b", 0, 11.5, 12.5), Execution("c", 0, 12.5, 14.0)]
    assert busy_share(runs) == pytest.approx(3.5 / 4.0)


def test_a_gap_is_put_down_to_what_was_still_to_be_done() -> None:
    first = a_journey(0.0, 1.0, granted=-1.0, fetched=-0.5, posted=-0.1)
    why = [
        ("server", a_journey(1.1, 2.0, granted=0.0, fetched=0.4, posted=0.5)),
        ("lease", a_journey(1.6, 2.0, granted=1.1, fetched=1.5, posted=1.6)),
        ("link", a_journey(1.5, 2.0, granted=0.9, fetched=1.4, posted=1.5)),
        ("worker", a_journey(1.5, 2.0, granted=0.1, fetched=0.5, posted=1.5)),
    ]
    assert [gaps([second, first])[0].why for _, second in why] == [expected for expected, _ in why]
    assert idle_ms([Gap(0.25, "link"), Gap(0.5, "server"), Gap(0.25, "link")]) == {"link": 500.0, "server": 500.0}


def test_a_delivery_is_counted_without_its_upload() -> None:
    journey = a_journey(0.0, 1.0, granted=-1.0, fetched=-0.5, posted=-0.1)
    assert journey.deliver_s == pytest.approx(0.05)
    assert journey.ways_s == pytest.approx((0.01, 0.4, 0.02, 0.01, 0.03))


def test_percentiles_of_few_are_near_the_largest() -> None:
    assert percentile_ms([], 0.5) is None
    assert percentile_ms([0.2], 0.99) == pytest.approx(200)
    assert percentile_ms([0.01] * 9 + [0.1], 0.5) == pytest.approx(10)
    assert (percentile_ms([0.01] * 9 + [0.1], 0.99) or 0) > 90


def test_inputs_belong_to_the_lease_before_them() -> None:
    passed = [Passed(2.1, 2.5, 2.5), Passed(1.1, 1.5, 1.5)]
    assert match_fetches({"late": 2.0, "early": 1.0, "none": 9.0}, passed) == {"late": passed[0], "early": passed[1]}


def test_the_link_carries_so_many_bytes_a_second_and_makes_good_that_it_was_woken_late() -> None:
    now = 100.0
    throttle = Throttle(1_000_000.0, now=lambda: now)
    assert [throttle.reserve(100_000) for _ in range(3)] == pytest.approx([0.1, 0.2, 0.3])
    now += 0.35
    assert throttle.reserve(100_000) == pytest.approx(0.05)
    assert throttle.reserve(100) == 0.0
    now += 5.0
    assert throttle.reserve(100_000) == pytest.approx(0.1)


def test_the_link_writes_down_objects_and_nothing_else() -> None:
    written, moments = io.StringIO(), iter(range(100))
    exchange = Exchange(written, now=lambda: float(next(moments)))
    for chunk in (b"POST /api/worker/poll HTTP/1.1\r\ncontent-length: 2\r\n\r\n{}", b"PUT /objects/up HTTP/1.1\r\n"):
        exchange.came_up(chunk)
    exchange.went_down(b"HTTP/1.1 200 OK\r\n\r\n")
    assert written.getvalue() == ""
    exchange = Exchange(written, now=lambda: float(next(moments)))
    for chunk in (b"PUT /objects/up HTTP/1.1\r\nContent-Length: 5\r\n\r\n", b"abc", b"de"):
        exchange.came_up(chunk)
        exchange.went_up(chunk)
    exchange.came_down(b"HTTP/1.1 200 OK\r\n\r\n")
    exchange.went_down(b"HTTP/1.1 200 OK\r\n\r\n")
    exchange.came_up(b"GET /objects/down HTTP/1.1\r\n\r\n")
    for chunk in (b"HTTP/1.1 200 OK\r\ncontent-length: 3\r\n\r\nab", b"c"):
        exchange.came_down(chunk)
        exchange.went_down(chunk)
    up, down = (json.loads(line) for line in written.getvalue().splitlines())
    assert (up["verb"], up["token"], down["verb"], down["token"]) == ("PUT", "up", "GET", "down")
    assert up["began"] < up["ended"] < up["answered"] < down["began"] < down["ended"] < down["answered"]


async def test_what_goes_in_at_one_end_comes_out_at_the_other(tmp_path: Path) -> None:
    told: asyncio.Queue[str] = asyncio.Queue()

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 300000\r\n\r\n" + bytes(300_000))
        await writer.drain()
        writer.close()

    far = await asyncio.start_server(answer, "127.0.0.1", 0)
    with (tmp_path / "link.jsonl").open("w") as written:
        link = asyncio.create_task(Link(far.sockets[0].getsockname()[1], written, 3_000_000).serve(told.put_nowait))
        port = int((await told.get()).rpartition(":")[2])
        began = time.monotonic()
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"GET /objects/x HTTP/1.1\r\n\r\n")
        assert (await reader.read()).endswith(bytes(300_000))
        assert time.monotonic() - began >= 0.09
        writer.close()
        link.cancel()
        await asyncio.gather(link, return_exceptions=True)
    far.close()
    assert json.loads((tmp_path / "link.jsonl").read_text())["token"] == "x"


def test_the_servers_diary_has_one_line_for_each_prompt() -> None:
    written, moments = io.StringIO(), iter([1.0, 2.0, 3.0])
    queue = PromptQueue(History(), changed=lambda: None)
    Diary(queue, written, now=lambda: next(moments))
    queue.put(Queued(1, "one", {}, {}, ()))
    assert queue.take() is not None
    queue.finish(Entry(prompt=[1, "one"], outputs={}, status_str="success", completed=True, messages=(), meta={}))
    assert Execution(**json.loads(written.getvalue())) == Execution("one", 1.0, 2.0, 3.0)


def test_the_benchs_node_makes_a_file_of_the_asked_length(tmp_path: Path) -> None:
    folders = Folders(tmp_path)
    folders.make()
    (tmp_path / TEMPLATE).write_bytes(b"x" * 100)
    (folders.input / "in.png").write_bytes(b"in")
    steps: list[tuple[float, float]] = []
    context = Context(folders=folders, report=lambda value, of, _: steps.append((value, of)))
    for size_bytes in (10, 1_000):
        inputs = {"file": "in.png", "seconds": 0.0, "bytes": size_bytes, "seed": 1, "filename_prefix": "a/b"}
        made = BenchWork().run(inputs, context)
        [file] = (made.ui or {})["images"]
        assert (folders.output / file["subfolder"] / file["filename"]).stat().st_size == size_bytes
    assert steps == [(1, 1), (1, 1)]
    with pytest.raises(FileNotFoundError):
        BenchWork().run({**inputs, "file": "other.png"}, context)


def test_what_is_ordered_fits_the_effect_and_the_node() -> None:
    version = prepare_version(json.dumps(GRAPH).encode(), properties=read_properties(PROPERTIES))
    asked = {"file": str(uuid4()), "seconds": 10.0, "bytes": FILE_BYTES}
    chosen = choose(version.properties, {}, asked, fixed=(), random_seed=5)
    filled = fill_graph(GRAPH, version.properties, chosen)["1"]["inputs"]
    assert (filled["seconds"], filled["bytes"], filled["seed"]) == (10.0, FILE_BYTES, 5)
    assert set(filled) == set(BenchWork.required)


def test_a_picture_of_a_size_is_one() -> None:
    picture = picture_of(30_000)
    assert 29_000 < len(picture) < 32_000
    assert Image.open(io.BytesIO(picture)).size == (100, 100)
