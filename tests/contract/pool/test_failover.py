"""Seed 003 told by scripted servers: who is blocked for what, where a job goes next, and when a pair comes back."""

import asyncio
from pathlib import Path

import pytest

from comfyfleet.comfy.errors import PromptRefused, ServerUnreachable
from comfyfleet.comfy.model import FailureClass, NodeError, Prompt, Returned
from comfyfleet.pool import Pool, PoolEvent, RunFailed, SmartFailover
from comfyfleet.pool.events import ClientBlockedWorkflow, ClientUnblockedWorkflow, JobRetrying
from tests.contract.pool.scripted import Scripted, failing, graph
from tests.contract.pool.virtual import loop_now, run_virtual


def a_pool(*servers: Scripted, **options: object) -> Pool:
    return Pool(servers, now=loop_now, chance=lambda: 0.5, **options)  # type: ignore[arg-type]


def record(pool: Pool) -> list[PoolEvent]:
    heard: list[PoolEvent] = []
    for name in ("job:queued", "job:started", "job:completed", "job:failed", "job:retrying", "job:cancelled"):
        pool.on(name, heard.append)
    for name in ("client:blocked_workflow", "client:unblocked_workflow"):
        pool.on(name, heard.append)
    return heard


def names(heard: list[PoolEvent]) -> list[str]:
    return [event.name for event in heard]


def test_a_failing_pair_is_blocked_the_server_serves_others_and_comes_back_after_the_cooldown() -> None:
    async def story() -> None:
        bad = Scripted("bad", script=failing(FailureClass.EXECUTION_ERROR, "Draw", times=1))
        good = Scripted("good", seconds=1.0)
        async with a_pool(bad, good) as pool:
            heard = record(pool)
            first = await pool.run(graph("Draw"), servers=None)
            assert first.server == "good"
            assert names(heard) == [
                "job:queued",
                "job:started",
                "client:blocked_workflow",
                "job:retrying",
                "job:started",
                "job:completed",
            ]
            blocked = heard[2]
            assert isinstance(blocked, ClientBlockedWorkflow)
            assert (blocked.server, blocked.structure_hash) == ("bad", first.job.structure_hash)
            assert blocked.until == blocked.at + 60
            # The same structure stays away from it, another one does not.
            results = await asyncio.gather(*(pool.run(graph("Draw", seed=n)) for n in range(3)))
            assert {result.server for result in results} == {"good"}
            assert (await pool.run(graph("Paint"), servers={"bad"})).server == "bad"
            # A job that may run nowhere else waits out the cooldown, and no longer.
            began = loop_now()
            back = await pool.run(graph("Draw"), servers={"bad"})
            assert back.server == "bad"
            assert began < blocked.until <= loop_now() <= blocked.until + 2
            lifted = [event for event in heard if isinstance(event, ClientUnblockedWorkflow)]
            assert [(event.server, event.reason) for event in lifted] == [("bad", "expired")]
            assert lifted[0].at == pytest.approx(blocked.until)
        assert bad.ran == ["Draw", "Paint", "Draw"]

    run_virtual(story)


def test_a_job_that_fails_on_every_server_fails_with_the_last_failure() -> None:
    async def story() -> None:
        servers = [Scripted(name, script=failing(FailureClass.EXECUTION_ERROR)) for name in "abc"]
        async with a_pool(*servers, attempts_max=10) as pool:
            heard = record(pool)
            with pytest.raises(RunFailed, match="execution_error as the test wants") as failed:
                await pool.run(graph())
            assert failed.value.failure.failure is FailureClass.EXECUTION_ERROR
            assert failed.value.failure.node == "1"
            assert names(heard).count("job:retrying") == 2
            assert names(heard)[-1] == "job:failed"
        assert sorted(len(server.ran) for server in servers) == [1, 1, 1]

    run_virtual(story)


def test_attempts_are_bounded() -> None:
    async def story() -> None:
        servers = [Scripted(name, script=failing(FailureClass.EXECUTION_ERROR)) for name in "abcde"]
        async with a_pool(*servers, attempts_max=2) as pool:
            with pytest.raises(RunFailed) as failed:
                await pool.run(graph())
            assert failed.value.facts["attempts"] == 2
        assert sum(len(server.ran) for server in servers) == 2

    run_virtual(story)


@pytest.mark.parametrize("failure", [FailureClass.USER_INPUT, FailureClass.WORKFLOW_INVALID, FailureClass.TIMEOUT])
def test_what_no_other_server_would_do_better_is_neither_retried_nor_blocked(failure: FailureClass) -> None:
    async def story() -> None:
        one, other = Scripted("one", script=failing(failure, times=1)), Scripted("other")
        async with a_pool(one, other) as pool:
            heard = record(pool)
            with pytest.raises(RunFailed) as failed:
                await pool.run(graph(), servers={"one"})
            assert failed.value.failure.failure is failure
            assert names(heard) == ["job:queued", "job:started", "job:failed"]
            assert (await pool.run(graph(), servers={"one"})).server == "one"

    run_virtual(story)


def test_a_server_fault_blocks_the_whole_server_and_the_job_runs_elsewhere() -> None:
    async def story() -> None:
        broken = Scripted("broken", script=failing(FailureClass.SERVER_FAULT, times=1))
        good = Scripted("good", seconds=0.1)
        async with a_pool(broken, good) as pool:
            heard = record(pool)
            assert (await pool.run(graph("Draw"), servers={"broken", "good"})).server == "good"
            blocks = [event for event in heard if isinstance(event, ClientBlockedWorkflow)]
            assert [(event.server, event.structure_hash) for event in blocks] == [("broken", "*")]
            results = await asyncio.gather(*(pool.run(graph(shape)) for shape in ("Paint", "Blur", "Draw")))
            assert {result.server for result in results} == {"good"}
            began = loop_now()
            assert (await pool.run(graph("Blur"), servers={"broken"})).server == "broken"
            assert loop_now() - began > 50

    run_virtual(story)


def test_out_of_memory_goes_to_the_larger_card_and_the_small_one_frees_its_models() -> None:
    async def story() -> None:
        small = Scripted("small", vram_bytes=8, script=failing(FailureClass.OUT_OF_MEMORY))
        middle = Scripted("middle", vram_bytes=16)
        large = Scripted("large", vram_bytes=24, seconds=0.2)
        async with a_pool(small, middle, large) as pool:
            # The large one is busy with one job: for a job that wants memory it is the best all the same.
            busy = await pool.submit(graph("Paint"), servers={"large"})
            first = await pool.submit(graph(), servers={"small", "middle", "large"})
            assert first.job.state == "queued"
            assert (await first).server == "large"
            await busy
            assert small.freed_count == 1
            assert middle.ran == []

    run_virtual(story)


def test_several_failures_before_a_block_and_a_success_forgives() -> None:
    async def story() -> None:
        flaky = Scripted("flaky", script=failing(FailureClass.EXECUTION_ERROR, times=2))
        other = Scripted("other")
        async with a_pool(flaky, other, strategy=SmartFailover(max_failures_before_block=3, cooldown_s=5)) as pool:
            heard = record(pool)
            for _ in range(2):
                flaky_first = await pool.submit(graph(), servers={"flaky"}, attempts_max=1)
                with pytest.raises(RunFailed):
                    await flaky_first
            assert (await pool.run(graph(), servers={"flaky"})).server == "flaky"
            flaky.script = failing(FailureClass.EXECUTION_ERROR, times=2)
            for _ in range(2):
                with pytest.raises(RunFailed):
                    await pool.run(graph(), servers={"flaky"})
            assert "client:blocked_workflow" not in names(heard)

    run_virtual(story)


def test_infra_failures_are_retried_with_backoff_and_block_nothing() -> None:
    async def story() -> None:
        shaky = Scripted("shaky", script=failing(FailureClass.INFRA, times=2))
        async with a_pool(shaky) as pool:
            heard = record(pool)
            assert (await pool.run(graph())).job.attempts == 3
            delays = [event.delay_s for event in heard if isinstance(event, JobRetrying)]
            assert delays == sorted(delays)
            assert delays[0] > 0
            assert "client:blocked_workflow" not in names(heard)

    run_virtual(story)


def test_a_prompt_that_was_returned_costs_no_attempt() -> None:
    async def story() -> None:
        left = [5]

        def lost(_: object) -> Returned | None:
            left[0] -= 1
            return Returned("the server was restarted") if left[0] >= 0 else None

        async with a_pool(Scripted("a", script=lost), attempts_max=1) as pool:
            result = await pool.run(graph())
            assert result.job.attempts == 1

    run_virtual(story)


def test_blocks_may_be_scoped_by_a_key_of_the_metadata(tmp_path: Path) -> None:
    """One tenant's failing inputs keep no other tenant from a server, also after a restart."""

    async def story() -> None:
        state = tmp_path / "blocks.json"
        acme, other = {"tenant_id": "acme"}, {"tenant_id": "other"}
        bad = Scripted("bad", script=failing(FailureClass.EXECUTION_ERROR, "Draw", times=1))
        async with a_pool(bad, Scripted("good"), blocks_by="tenant_id", state_path=state) as pool:
            heard = record(pool)
            assert (await pool.run(graph("Draw"), metadata=acme, servers=None)).server == "good"
            [blocked] = [each for each in heard if isinstance(each, ClientBlockedWorkflow)]
            assert (blocked.server, blocked.scope, "@" in blocked.structure_hash) == ("bad", "acme", False)
            began = loop_now()
            assert (await pool.run(graph("Draw"), metadata=other, servers={"bad"})).server == "bad"
            assert (await pool.run(graph("Draw"), servers={"bad"})).server == "bad"
            assert loop_now() < began + 30
            with pytest.raises(ValueError, match="must be a text"):
                await pool.run(graph("Draw"), metadata={"tenant_id": ["acme"]})
        async with a_pool(Scripted("bad"), blocks_by="tenant_id", state_path=state) as pool:
            assert (await pool.run(graph("Draw"), metadata=other)).server == "bad"
            assert loop_now() < began + 30
            assert (await pool.run(graph("Draw"), metadata=acme)).server == "bad"
            assert loop_now() >= blocked.until

    run_virtual(story)


def test_a_broken_server_is_put_aside_for_every_scope() -> None:
    async def story() -> None:
        broken = Scripted("broken", script=failing(FailureClass.SERVER_FAULT, "Draw", times=1))
        async with a_pool(broken, Scripted("good"), blocks_by="tenant_id") as pool:
            heard = record(pool)
            await pool.run(graph("Draw"), metadata={"tenant_id": "acme"})
            [blocked] = [each for each in heard if isinstance(each, ClientBlockedWorkflow)]
            assert (blocked.structure_hash, blocked.scope) == ("*", None)
            assert (await pool.run(graph("Paint"), metadata={"tenant_id": "other"})).server == "good"

    run_virtual(story)


def test_a_job_is_not_given_back_for_ever() -> None:
    async def story() -> None:
        async with a_pool(Scripted("a", script=lambda _: Returned("lost"))) as pool:
            with pytest.raises(RunFailed, match="given back 21 times"):
                await pool.run(graph())

    run_virtual(story)


def test_a_server_that_refuses_connections_does_not_draw_all_jobs_to_itself() -> None:
    async def story() -> None:
        hole = Scripted("hole", refuse=lambda _: ServerUnreachable("hole", problem="refused", sent=False))
        good = Scripted("good", seconds=1.0)
        async with a_pool(hole, good) as pool:
            results = await asyncio.gather(*(pool.run(graph(seed=number)) for number in range(10)))
            assert {result.server for result in results} == {"good"}
            assert max(result.job.attempts for result in results) == 1
            assert loop_now() < 1_000_000 + 25

    run_virtual(story)


def refusal(type: str, *, node_type: str = "", details: str = "", error: str = "") -> PromptRefused:
    errors = (NodeError("1", "Loader", "name", node_type, "no", details),) if node_type else ()
    return PromptRefused("one", type=type, message=error or "no", node_errors=errors)


@pytest.mark.parametrize(
    "refused",
    [
        refusal("missing_node_type"),
        refusal(
            "prompt_outputs_failed_validation", node_type="value_not_in_list", details="n: 'x.safetensors' not in []"
        ),
    ],
    ids=["a node it does not have", "a weight it does not have"],
)
def test_what_one_server_lacks_another_may_have(refused: PromptRefused) -> None:
    async def story() -> None:
        bare = [Scripted(f"bare{number}", refuse=lambda _: refused) for number in range(4)]
        full = Scripted("full")
        async with a_pool(*bare, full, attempts_max=1) as pool:
            heard = record(pool)
            result = await pool.run(graph())
            assert result.server == "full"
            assert "client:blocked_workflow" not in names(heard)
            await pool.remove_server("full")
            with pytest.raises(RunFailed) as failed:
                await pool.run(graph())
            assert failed.value.failure.failure is FailureClass.WORKFLOW_INVALID

    run_virtual(story)


MISSING = refusal("missing_node_type")


class Bare(Scripted):
    """Lacks a node class."""

    def __init__(self) -> None:
        super().__init__("bare", refuse=self._refuse_it)
        self.asked_count = 0

    def _refuse_it(self, _prompt: Prompt) -> PromptRefused:
        self.asked_count += 1
        return MISSING


def test_what_every_reachable_server_refuses_fails_at_once_while_another_is_away() -> None:
    async def story() -> None:
        bare, away = Bare(), Scripted("away")
        async with a_pool(bare, away) as pool:
            away.set_online(False, refused=True)
            with pytest.raises(RunFailed) as failed:
                await asyncio.wait_for(pool.run(graph()), 0.5)
            assert (failed.value.failure.failure, failed.value.server) == (FailureClass.WORKFLOW_INVALID, "bare")
            assert bare.asked_count == 1

    run_virtual(story)


def test_it_waits_for_one_that_is_just_connecting_says_so_and_does_not_ask_the_other_again() -> None:
    async def story() -> None:
        bare, coming = Bare(), Scripted("coming", online=False)
        async with a_pool(bare, coming) as pool:
            heard = record(pool)
            pool.on("job:waiting", heard.append)
            running = asyncio.create_task(pool.run(graph()))
            await asyncio.sleep(1.0)
            assert bare.asked_count == 1
            assert "job:waiting" in names(heard)
            [job] = pool.state.jobs
            assert job.waits_for == "a server that is there: coming is connecting"
            coming.set_online(True)
            assert (await running).server == "coming"

    run_virtual(story)


def test_it_fails_when_the_one_that_was_connecting_turns_out_to_be_away() -> None:
    async def story() -> None:
        bare, coming = Bare(), Scripted("coming", online=False)
        async with a_pool(bare, coming) as pool:
            running = asyncio.create_task(pool.run(graph()))
            await asyncio.sleep(1.0)
            coming.set_online(False, refused=True)
            with pytest.raises(RunFailed, match="refused the prompt"):
                await asyncio.wait_for(running, 0.5)
            await asyncio.wait_for(pool.drained(), 0.5)

    run_virtual(story)


def test_a_job_for_which_no_server_is_there_says_what_it_waits_for_until_one_comes() -> None:
    async def story() -> None:
        one = Scripted("one")
        async with a_pool(one) as pool:
            one.set_online(False, refused=True)
            heard = record(pool)
            pool.on("job:waiting", heard.append)
            running = asyncio.create_task(pool.run(graph()))
            await asyncio.sleep(1.0)
            assert names(heard) == ["job:queued", "job:waiting"]
            assert pool.state.jobs[0].waits_for == "a server that is there: one is offline"
            assert pool.state.servers[0].problem == "it does not run: its port refuses connections"
            one.set_online(True)
            assert (await running).job.waits_for is None

    run_virtual(story)


def test_a_bad_value_of_the_user_is_told_at_once_and_blocks_nothing() -> None:
    async def story() -> None:
        refused = refusal("prompt_outputs_failed_validation", node_type="value_bigger_than_max", details="steps 99999")
        one, other = Scripted("one", refuse=lambda _: refused), Scripted("other", refuse=lambda _: refused)
        async with a_pool(one, other) as pool:
            heard = record(pool)
            with pytest.raises(RunFailed, match="steps 99999") as failed:
                await pool.run(graph())
            assert failed.value.failure.failure is FailureClass.USER_INPUT
            assert names(heard) == ["job:queued", "job:failed"]

    run_virtual(story)


def test_a_broken_connector_costs_attempts_and_not_the_pool() -> None:
    async def story() -> None:
        def explode(_: object) -> None:
            raise ZeroDivisionError

        broken, good = Scripted("broken", refuse=explode), Scripted("good")
        async with a_pool(broken, good) as pool:
            assert (await pool.run(graph(), servers={"broken", "good"})).server == "good"

    run_virtual(story)
