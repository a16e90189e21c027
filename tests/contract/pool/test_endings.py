"""Cancelling, closing, giving back, restarting: every job ends once, and its owner hears of it."""

import asyncio
import json
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from comfyfleet.comfy.model import FailureClass
from comfyfleet.kernel.errors import AlreadyExists
from comfyfleet.pool import (
    BlockChange,
    MemoryQueue,
    Pool,
    PoolClosed,
    PoolEvent,
    QueueDepth,
    QueuedJob,
    QueueFull,
    RunCancelled,
    RunFailed,
    SmartFailover,
)
from tests.contract.pool.scripted import Scripted, failing, graph
from tests.contract.pool.virtual import loop_now, run_virtual


def a_pool(*servers: Scripted, **options: object) -> Pool:
    return Pool(servers, now=loop_now, chance=lambda: 0.5, **options)  # type: ignore[arg-type]


def test_a_waiting_job_is_cancelled_without_a_server_hearing_of_it() -> None:
    async def story() -> None:
        server = Scripted("a")
        async with a_pool(server) as pool:
            handles = [await pool.submit(graph()) for _ in range(3)]
            assert await handles[2].cancel(reason="changed my mind")
            with pytest.raises(RunCancelled, match="changed my mind"):
                await handles[2]
            assert not await handles[2].cancel()
            await asyncio.gather(handles[0].result(), handles[1].result())
        assert server.cancelled == []

    run_virtual(story)


def test_a_running_job_is_cancelled_on_its_server() -> None:
    async def story() -> None:
        server = Scripted("a", seconds=100)
        async with a_pool(server) as pool:
            events = pool.events("job:cancelled", "job:completed", "job:retrying")
            handles = [await pool.submit(graph()) for _ in range(2)]
            await asyncio.sleep(1)
            began = loop_now()
            for handle in reversed(handles):  # the one behind it in the server's own queue, and then the running one
                assert await handle.cancel()
                with pytest.raises(RunCancelled):
                    await handle
            assert loop_now() - began < 1
            assert len(server.cancelled) == 2
            await pool.run(graph())
        assert [event.name async for event in events] == ["job:cancelled", "job:cancelled", "job:completed"]

    run_virtual(story)


def test_a_cancel_that_comes_too_late_lets_the_result_stand() -> None:
    async def story() -> None:
        server = Scripted("a", seconds=1)
        async with a_pool(server) as pool:
            handle = await pool.submit(graph())
            await handle
            assert not await handle.cancel()
            assert handle.job.state == "completed"

    run_virtual(story)


def test_a_server_that_does_not_confirm_a_cancel_is_not_waited_for_for_ever() -> None:
    async def story() -> None:
        server = Scripted("a", seconds=10_000, deaf_to_cancel=True)
        async with a_pool(server) as pool:
            handle = await pool.submit(graph())
            await asyncio.sleep(1)
            with capture_logs() as logs:
                assert await handle.cancel()
            assert [line["event"] for line in logs] == ["pool.cancel_not_confirmed"]
            assert loop_now() < 1_000_000 + 60

    run_virtual(story)


def test_cancelling_the_caller_of_run_cancels_the_job() -> None:
    async def story() -> None:
        server = Scripted("a", seconds=100)
        async with a_pool(server) as pool:
            cancelled = asyncio.Event()
            pool.on("job:cancelled", lambda _: cancelled.set())
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(2):
                    await pool.run(graph())
            await cancelled.wait()
            assert pool.jobs == ()
        assert len(server.cancelled) == 1

    run_virtual(story)


def test_a_job_is_cancelled_while_its_input_is_on_the_way() -> None:
    async def story() -> None:
        server = Scripted("a")
        server.upload_s = 500
        async with a_pool(server) as pool:
            handle = await pool.submit(graph(), inputs={("1", "image"): b"bytes"})
            await asyncio.sleep(1)
            assert await handle.cancel()
            assert server.prompts == []
            server.upload_s = 0
            await pool.run(graph())

    run_virtual(story)


def test_a_job_is_cancelled_while_its_prompt_is_being_posted() -> None:
    async def story() -> None:
        server = Scripted("a", seconds=500)
        server.submit_s = 5
        async with a_pool(server) as pool:
            handle = await pool.submit(graph())
            await asyncio.sleep(1)
            began = loop_now()
            assert await handle.cancel()
            assert loop_now() - began < 10
        assert server.cancelled == [prompt.prompt_id for prompt in server.prompts]
        assert len(server.prompts) == 1

    run_virtual(story)


def test_a_post_that_hangs_does_not_hold_up_a_cancel() -> None:
    async def story() -> None:
        server = Scripted("a")
        server.submit_s = 10_000
        async with a_pool(server) as pool:
            handle = await pool.submit(graph())
            await asyncio.sleep(1)
            with capture_logs() as logs:
                assert await handle.cancel()
            assert [line["event"] for line in logs] == ["pool.cancel_not_confirmed"]
            assert loop_now() < 1_000_000 + 60
            assert len(server.cancelled) == 1  # it may have arrived

    run_virtual(story)


def test_a_cancelled_job_whose_files_cannot_be_fetched_is_not_run_again(tmp_path: Path) -> None:
    async def story() -> None:
        server = Scripted("a")
        server.fetch_s, server.gone_outputs = 5, 1
        async with a_pool(server, outputs=tmp_path) as pool:
            retrying = pool.events("job:retrying")
            handle = await pool.submit(graph())
            await asyncio.sleep(3)
            assert await handle.cancel()
        assert len(server.prompts) == 1
        assert [event async for event in retrying] == []

    run_virtual(story)


def test_closing_lets_what_runs_finish_and_gives_the_rest_back() -> None:
    async def story() -> None:
        server = Scripted("a", seconds=10)
        pool = a_pool(server)
        async with pool:
            events = pool.events("job:completed", "job:cancelled")
            handles = [await pool.submit(graph(seed=number)) for number in range(4)]
            await asyncio.sleep(1)
            left = await pool.close(grace_s=30)
        assert [job.id for job in left] == [handles[2].id, handles[3].id]
        assert [event.name async for event in events] == ["job:completed"] * 2 + ["job:cancelled"] * 2
        for handle in handles[:2]:
            await handle
        for handle in handles[2:]:
            with pytest.raises(RunCancelled, match="the pool was closed"):
                await handle
        assert server.closed
        with pytest.raises(PoolClosed):
            await pool.run(graph())

    run_virtual(story)


def test_closing_after_the_grace_takes_back_what_runs() -> None:
    async def story() -> None:
        server = Scripted("a", seconds=1000)
        async with a_pool(server) as pool:
            handle = await pool.submit(graph())
            await asyncio.sleep(1)
            left = await pool.close(grace_s=5)
            assert loop_now() < 1_000_000 + 20
        assert [(job.id, job.attempts) for job in left] == [(handle.id, 0)]
        assert len(server.cancelled) == 1

    run_virtual(story)


def test_closing_can_finish_everything() -> None:
    async def story() -> None:
        async with a_pool(Scripted("a")) as pool:
            handles = [await pool.submit(graph()) for _ in range(5)]
            assert await pool.close(finish="all") == ()
        assert all(handle.job.state == "completed" for handle in handles)

    run_virtual(story)


def test_an_error_in_the_block_closes_without_waiting() -> None:
    async def story() -> None:
        server = Scripted("a", seconds=1000)

        async def stumble() -> None:
            async with a_pool(server) as pool:
                await pool.submit(graph())
                await asyncio.sleep(1)
                raise ZeroDivisionError

        with pytest.raises(ZeroDivisionError):
            await stumble()
        assert loop_now() < 1_000_000 + 20
        assert server.closed

    run_virtual(story)


def test_a_pool_that_is_not_open_takes_nothing() -> None:
    async def story() -> None:
        with pytest.raises(PoolClosed):
            await a_pool(Scripted("a")).submit(graph())

    run_virtual(story)


class KeptQueue(MemoryQueue):
    """A queue that outlives its pools, as one in a database would."""

    async def close(self) -> tuple[QueuedJob, ...]:
        return ()


def test_a_queue_of_ones_own_keeps_what_a_pool_gives_back_and_another_pool_runs_it() -> None:
    async def story() -> None:
        queue = KeptQueue()
        async with a_pool(Scripted("a", seconds=1000), queue=queue) as pool:
            handles = [await pool.submit(graph(), metadata={"n": number}) for number in range(3)]
            await asyncio.sleep(1)
            assert await pool.close(grace_s=1) == ()
        for handle in handles:
            with pytest.raises(PoolClosed):
                await handle
        async with a_pool(Scripted("b", seconds=1), queue=queue) as pool:
            done = pool.events("job:completed")
            seen = [(await anext(done)).job.metadata["n"] for _ in range(3)]  # type: ignore[union-attr]
        assert sorted(seen) == [0, 1, 2]

    run_virtual(story)


def test_a_job_whose_files_are_on_their_way_goes_back_to_its_queue_when_the_pool_must_close(tmp_path: Path) -> None:
    async def story() -> None:
        queue, server = KeptQueue(), Scripted("a")
        server.fetch_s = 10_000
        async with a_pool(server, queue=queue, outputs=tmp_path) as pool:
            handle = await pool.submit(graph())
            await asyncio.sleep(3)
            await pool.close(grace_s=0)
        with pytest.raises(PoolClosed):
            await handle
        assert await queue.depth() == QueueDepth(waiting=1, delayed=0, reserved=0)

    run_virtual(story)


def test_a_queue_that_fails_for_a_while_is_asked_again() -> None:
    async def story() -> None:
        class Shaky(MemoryQueue):
            troubles = 3

            async def peek(self, wanted: object) -> QueuedJob | None:
                if self.troubles:
                    self.troubles -= 1
                    raise ConnectionError("the database is away")
                return await super().peek(wanted)  # type: ignore[arg-type]

        async with a_pool(Scripted("a"), queue=Shaky()) as pool:
            with capture_logs() as logs:
                await pool.run(graph())
            assert [line["event"] for line in logs] == ["pool.routing_failed"] * 3

    run_virtual(story)


def test_a_strategy_that_raises_keeps_no_job_from_its_end() -> None:
    async def story() -> None:
        class Broken(SmartFailover):
            def record_success(self, server: str, structure_hash: str, *, now: float) -> tuple[BlockChange, ...]:
                raise ZeroDivisionError

        async with a_pool(Scripted("a"), strategy=Broken()) as pool:
            with capture_logs() as logs:
                await pool.run(graph())
            assert [line["event"] for line in logs] == ["pool.strategy_failed"]

    run_virtual(story)


def test_two_servers_of_one_name_are_refused_and_what_was_opened_is_closed() -> None:
    async def story() -> None:
        one, double = Scripted("a"), Scripted("a")
        with pytest.raises(AlreadyExists):
            await a_pool(one, double).open()
        assert one.closed
        assert double.closed

    run_virtual(story)


def test_a_full_queue_refuses_and_what_it_holds_is_untouched() -> None:
    async def story() -> None:
        async with a_pool(Scripted("a"), queue=MemoryQueue(waiting_max=2)) as pool:
            heard: list[str] = []
            pool.on("job:cancelled", lambda event: heard.append(event.reason))  # type: ignore[union-attr]
            handles = [await pool.submit(graph()) for _ in range(2)]
            with pytest.raises(QueueFull):
                await pool.submit(graph())
            assert heard == ["not queued: 2 jobs wait already, and no more are taken."]
            await asyncio.gather(*(handle.result() for handle in handles))
            await pool.run(graph())

    run_virtual(story)


def test_blocks_survive_a_restart(tmp_path: Path) -> None:
    path = tmp_path / "state" / "blocks.json"

    async def before() -> str:
        bad = Scripted("bad", script=failing(FailureClass.EXECUTION_ERROR))
        async with a_pool(bad, Scripted("good"), state_path=path) as pool:
            assert (await pool.run(graph())).server == "good"
            with pytest.raises(RunFailed):
                await pool.run(graph("Paint"), servers={"bad"})
            return (await pool.run(graph())).job.structure_hash

    async def after() -> None:
        bad, good = Scripted("bad"), Scripted("good")
        async with a_pool(bad, good, state_path=path) as pool:
            began = loop_now()
            results = [await pool.run(graph()) for _ in range(3)]
            assert {result.server for result in results} == {"good"}
            lifted = pool.events("client:unblocked_workflow")
            assert (await pool.run(graph(), servers={"bad"})).server == "bad"
            assert began + 50 < loop_now() < began + 65
            assert (await anext(lifted)).server == "bad"  # type: ignore[union-attr]

    structure = run_virtual(before)
    kept = json.loads(path.read_text())
    assert kept["blocks"]["bad"][structure]["failure_count"] == 1
    assert [each.name for each in path.parent.iterdir()] == ["blocks.json"]
    run_virtual(after)
    assert structure not in json.loads(path.read_text())["blocks"].get("bad", {})


@pytest.mark.parametrize("kept", ["", "{", "[]", '{"version": 99, "blocks": {}}', "\x00\xff"])
def test_a_state_file_that_cannot_be_read_is_put_aside(kept: str, tmp_path: Path) -> None:
    path = tmp_path / "blocks.json"
    path.write_text(kept)

    async def story() -> None:
        async with a_pool(Scripted("a"), state_path=path) as pool:
            await pool.run(graph())

    with capture_logs() as logs:
        run_virtual(story)
    assert [line["event"] for line in logs] == ["pool.blocks_unreadable"]
    assert (tmp_path / "blocks.json.unreadable").read_text() == kept


def test_whatever_happens_every_job_ends_once_and_its_events_are_in_order() -> None:
    async def story() -> None:
        servers = [
            Scripted("a", seconds=3, script=failing(FailureClass.EXECUTION_ERROR, "Draw", times=3)),
            Scripted("b", seconds=2, script=failing(FailureClass.INFRA, times=4)),
            Scripted("c", seconds=1, script=failing(FailureClass.SERVER_FAULT, "Paint", times=1)),
        ]
        heard: dict[str, list[str]] = {}

        def hear(event: PoolEvent) -> None:
            heard.setdefault(event.job.id, []).append(event.name)  # type: ignore[union-attr]

        async with a_pool(*servers) as pool:
            for name in ("queued", "started", "progress", "preview", "completed", "failed", "retrying", "cancelled"):
                pool.on(f"job:{name}", hear)
            handles = [
                await pool.submit(graph(("Draw", "Paint", "Blur")[number % 3]), priority=number % 2)
                for number in range(60)
            ]
            for number in (5, 17, 44):
                await asyncio.sleep(2)
                await handles[number].cancel()
            servers[1].set_online(False)
            await asyncio.sleep(10)
            servers[1].set_online(True)
            await pool.remove_server("c", grace_s=0)
            results = await asyncio.gather(*(handle.result() for handle in handles), return_exceptions=True)
        assert not [
            each for each in results if not hasattr(each, "job") and not isinstance(each, RunCancelled | RunFailed)
        ]
        assert len(heard) == 60
        last = {"job:completed", "job:failed", "job:cancelled"}
        for names in heard.values():
            assert names[0] == "job:queued"
            assert [name for name in names if name in last] == [names[-1]]

    run_virtual(story)
