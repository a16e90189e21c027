"""Which job goes when and where: depth, priorities, affinity, presence, and that nothing moves while nothing is due."""

import asyncio
from collections.abc import Callable

import pytest

from comfyfleet.pool import ClientState, Pool, Server, ServerState
from comfyfleet.pool.route import OVERTAKES_MAX
from tests.contract.pool.scripted import Scripted, check_protocol, graph
from tests.contract.pool.virtual import VirtualLoop, loop_now, run_virtual


def a_pool(*servers: Scripted | Server, **options: object) -> Pool:
    return Pool(servers, now=loop_now, chance=lambda: 0.5, **options)  # type: ignore[arg-type]


def test_a_server_never_waits_while_there_is_work() -> None:
    async def story() -> None:
        servers = [Scripted(name, seconds=0.1) for name in "abcd"]
        for server in servers:
            check_protocol(server)
        async with a_pool(*servers) as pool:
            await asyncio.gather(*(pool.run(graph(seed=number)) for number in range(80)))
        assert [len(server.ran) for server in servers] == [20, 20, 20, 20]
        assert max(server.idle_s for server in servers) < 0.001

    run_virtual(story)


def test_a_server_has_two_prompts_of_ours_and_not_three() -> None:
    async def story() -> None:
        deep, shallow = Scripted("deep"), Scripted("shallow")
        async with a_pool(deep, Server(shallow, depth=1, name="one at a time")) as pool:
            handles = [await pool.submit(graph(seed=number)) for number in range(6)]
            await asyncio.sleep(0.01)
            assert {view.name: view.load for view in pool.servers} == {"deep": 2, "one at a time": 1}
            assert [len(deep.prompts), len(shallow.prompts)] == [2, 1]
            await asyncio.gather(*(handle.result() for handle in handles))

    run_virtual(story)


def test_the_higher_priority_overtakes_what_waits_and_not_what_runs() -> None:
    async def story() -> None:
        server = Scripted("a")
        async with a_pool(server) as pool:
            handles = [await pool.submit(graph(text=f"low{number}")) for number in range(4)]
            await asyncio.sleep(0.01)
            handles.append(await pool.submit(graph(text="high"), priority=10))
            await asyncio.gather(*(handle.result() for handle in handles))
        assert server.texts == ["low0", "low1", "high", "low2", "low3"]

    run_virtual(story)


def test_a_prompt_behind_a_long_one_is_taken_back_when_another_server_has_nothing_to_do() -> None:
    async def story() -> None:
        slow, quick = Scripted("slow", seconds=1000), Scripted("quick", seconds=1)
        async with a_pool(slow, quick) as pool:
            handles = [await pool.submit(graph(seed=number)) for number in range(4)]
            began = loop_now()
            results = await asyncio.gather(*(handle.result() for handle in handles))
            assert sorted(result.server for result in results) == ["quick", "quick", "quick", "slow"]
            moved = [result for result in results if result.server == "quick"]
            assert all(result.job.attempts == 1 for result in moved)
            assert max(result.job.ended_at or 0 for result in moved) < began + 6
        assert len(slow.cancelled) == 1

    run_virtual(story)


def test_a_prompt_is_left_where_it_is_when_no_other_server_may_run_it() -> None:
    async def story() -> None:
        slow, idle = Scripted("slow", seconds=50), Scripted("idle")
        async with a_pool(slow, idle) as pool:
            handles = [await pool.submit(graph(), servers={"slow"}) for _ in range(2)]
            results = await asyncio.gather(*(handle.result() for handle in handles))
            assert {result.server for result in results} == {"slow"}
        assert slow.cancelled == []

    run_virtual(story)


def test_each_structure_keeps_to_the_server_that_has_it_loaded() -> None:
    async def story() -> None:
        one, other = Scripted("one"), Scripted("other")
        async with a_pool(one, other) as pool:
            shapes = ["Draw", "Paint"] * 8
            await asyncio.gather(*(pool.run(graph(shape, seed=number)) for number, shape in enumerate(shapes)))
        assert set(one.ran) == {"Draw"}
        assert set(other.ran) == {"Paint"}

    run_virtual(story)


def test_a_cold_job_is_overtaken_a_bounded_number_of_times() -> None:
    async def story() -> None:
        server = Scripted("a")
        async with a_pool(server) as pool:
            warm = [await pool.submit(graph("Draw", text="warm")) for _ in range(2)]
            cold = await pool.submit(graph("Paint", text="cold"))
            warm += [await pool.submit(graph("Draw", text="warm")) for _ in range(30)]
            await asyncio.gather(cold.result(), *(handle.result() for handle in warm))
        assert server.texts.index("cold") == 2 + OVERTAKES_MAX

    run_virtual(story)


def test_a_server_that_went_away_gets_nothing_and_waits_out_its_grace_when_it_is_back() -> None:
    async def story() -> None:
        server = Scripted("a", online=False)
        async with a_pool(server, reconnect_grace_s=5.0) as pool:
            told: list[tuple[ServerState, float]] = []
            pool.on("client:state", lambda event: told.append((event.state, event.at)))  # type: ignore[union-attr]
            waiting = await pool.submit(graph())
            await asyncio.sleep(100)
            assert not waiting.done
            server.set_online(True)  # for the first time: no grace
            await waiting
            server.set_online(False)
            again = await pool.submit(graph())
            await asyncio.sleep(100)
            came_back = loop_now()
            server.set_online(True)
            await again
            assert again.job.started_at is not None
            assert again.job.started_at >= came_back + 5.0
            assert [state for state, _ in told] == ["online", "offline", "recovering", "online"]
            assert told[-1][1] == pytest.approx(came_back + 5.0)

    run_virtual(story)


def test_a_grace_starts_anew_when_the_server_flaps() -> None:
    async def story() -> None:
        server = Scripted("a")
        async with a_pool(server, reconnect_grace_s=5.0) as pool:
            states: list[ClientState] = []
            pool.on("client:state", states.append)  # type: ignore[arg-type]
            for _ in range(4):
                server.set_online(False)
                await asyncio.sleep(1)
                server.set_online(True)
                server.set_online(True)
                await asyncio.sleep(3)
            last = loop_now() - 3
            await pool.run(graph())
            assert loop_now() == pytest.approx(last + 5 + 1, abs=0.01)
            assert [event.state for event in states if event.state is ServerState.ONLINE] == ["online"]

    run_virtual(story)


def test_servers_come_and_go_while_jobs_run() -> None:
    async def story() -> None:
        old, new = Scripted("old", seconds=10), Scripted("new", seconds=1)
        async with a_pool(old) as pool:
            handles = [await pool.submit(graph(seed=number)) for number in range(4)]
            await asyncio.sleep(1)
            await pool.add_server(new)
            # One runs on and ends within the grace; the one behind it is taken back and run elsewhere.
            await pool.remove_server("old", grace_s=9.5)
            assert old.closed
            assert [view.name for view in pool.servers] == ["new"]
            results = await asyncio.gather(*(handle.result() for handle in handles))
            assert sorted(result.server for result in results) == ["new", "new", "new", "old"]
            assert all(result.job.attempts == 1 for result in results)

    run_virtual(story)


def test_removing_a_server_forgets_its_blocks() -> None:
    async def story() -> None:
        from comfyfleet.comfy.model import FailureClass
        from comfyfleet.pool import RunFailed
        from tests.contract.pool.scripted import failing

        bad = Scripted("a", script=failing(FailureClass.EXECUTION_ERROR))
        async with a_pool(bad) as pool:
            lifted: list[object] = []
            pool.on("client:unblocked_workflow", lambda event: lifted.append(event.reason))  # type: ignore[union-attr]
            with pytest.raises(RunFailed):
                await pool.run(graph())
            await pool.remove_server("a")
            assert lifted == ["removed"]
            await pool.add_server(Scripted("a"))
            began = loop_now()
            await pool.run(graph())
            assert loop_now() < began + 2

    run_virtual(story)


def test_nothing_is_due_while_the_pool_is_idle() -> None:
    async def story() -> None:
        loop = asyncio.get_running_loop()
        assert isinstance(loop, VirtualLoop)
        async with a_pool(*(Scripted(f"s{number}") for number in range(50))) as pool:
            await pool.run(graph())
            await asyncio.sleep(1)
            timers = [timer for timer in loop._scheduled if not timer.cancelled()]  # type: ignore[attr-defined]
            assert timers == []

    run_virtual(story)


def test_a_thousand_waiting_jobs_that_nobody_may_run_do_not_slow_the_others() -> None:
    async def story() -> None:
        asked = 0
        server = Scripted("a", seconds=0.1)
        async with a_pool(server) as pool:
            skips: Callable[..., bool] = pool._blocks.skips

            def counting(name: str, structure_hash: str) -> bool:
                nonlocal asked
                asked += 1
                return skips(name, structure_hash)

            pool._blocks.skips = counting  # type: ignore[method-assign]
            stuck = [await pool.submit(graph("Stuck"), servers={"nowhere"}, priority=9) for _ in range(1000)]
            await asyncio.gather(*(pool.run(graph(seed=number)) for number in range(20)))
            assert asked < 20 * 20
            for handle in stuck:
                await handle.cancel()

    run_virtual(story)
