"""One's own ComfyUI as a connector: submit, watch, fetch, cancel; over a real socket."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from comfyfleet.comfy.connector import Connector
from comfyfleet.comfy.errors import ServerUnreachable, UnexpectedAnswer
from comfyfleet.comfy.model import (
    Absent,
    Cancelled,
    Completed,
    Finished,
    Outcome,
    Pending,
    Progress,
    Prompt,
    Running,
    Update,
    new_prompt,
)
from comfyfleet.comfy.self_hosted import SelfHosted
from tests.contract.comfy.far_comfy import PICTURE, FarComfy, serving

GRAPH = {"1": {"class_type": "SaveImage", "inputs": {}}}
WITHIN_S = 30.0


@asynccontextmanager
async def connected(**behaviour: Any) -> AsyncIterator[tuple[FarComfy, SelfHosted]]:
    async with serving(FarComfy(**behaviour)) as far, SelfHosted(far.url) as connector:
        yield far, connector


async def watched(connector: Connector, prompt: Prompt) -> list[Update | Outcome]:
    async with asyncio.timeout(WITHIN_S):
        return [told async for told in connector.watch(prompt, deadline_s=WITHIN_S)]


async def test_a_prompt_runs_and_its_file_is_brought_home(tmp_path: Path) -> None:
    async with connected() as (far, connector):
        prompt = new_prompt(GRAPH)
        await connector.submit(prompt)
        assert await connector.find(prompt.prompt_id) == Pending(0)
        watching = asyncio.create_task(watched(connector, prompt))
        await far.begin(prompt.prompt_id)
        assert await connector.find(prompt.prompt_id) == Running()
        await far.finish(prompt.prompt_id)
        *updates, outcome = await watching
        assert isinstance(outcome, Completed)
        assert any(isinstance(update, Progress) for update in updates)
        fetched = await connector.fetch(outcome.outputs[0], tmp_path / "a.png")
        assert (fetched.bytes, fetched.path.read_bytes()) == (len(PICTURE), PICTURE)
        assert isinstance(await connector.find(prompt.prompt_id), Finished)
        await connector.forget(prompt.prompt_id)
        assert await connector.find(prompt.prompt_id) == Absent()


async def test_the_prompt_is_submitted_with_the_id_our_socket_listens_with() -> None:
    async with connected(instantly=True) as (far, connector):
        prompt = new_prompt(GRAPH)
        await connector.submit(prompt)
        assert far.clients[prompt.prompt_id] == connector.socket.client_id
        assert connector.online
        assert isinstance((await watched(connector, prompt))[-1], Completed)


async def test_an_instant_answer_is_heard_though_watching_begins_later() -> None:
    async with connected(instantly=True) as (_, connector):
        prompt = new_prompt(GRAPH)
        await connector.submit(prompt)
        told = await watched(connector, prompt)
        assert isinstance(told[-1], Completed)
        assert sum(isinstance(one, Completed) for one in told) == 1


async def test_a_server_whose_socket_is_shut_is_asked_instead() -> None:
    async with connected(shut_socket=True, instantly=True) as (_, connector):
        prompt = new_prompt(GRAPH)
        await connector.submit(prompt)
        assert not connector.online
        assert isinstance((await watched(connector, prompt))[-1], Completed)


async def test_a_submission_answered_with_trouble_but_queued_is_found_by_watching() -> None:
    async with connected(broken_submit=True, instantly=True) as (far, connector):
        prompt = new_prompt(GRAPH)
        with pytest.raises(UnexpectedAnswer):
            await connector.submit(prompt)
        assert isinstance((await watched(connector, prompt))[-1], Completed)
        assert [what for what, _ in far.asked].count("submit") == 1


async def test_a_pending_prompt_is_taken_off_the_queue() -> None:
    async with connected() as (far, connector):
        prompt = new_prompt(GRAPH)
        await connector.submit(prompt)
        assert await connector.cancel(prompt.prompt_id)
        assert far.pending == []
        assert ("interrupt", prompt.prompt_id) not in far.asked


async def test_a_lost_interrupt_is_repeated_until_the_history_confirms() -> None:
    async with connected(interrupts_lost=2) as (far, connector):
        prompt = new_prompt(GRAPH)
        await connector.submit(prompt)
        await far.begin(prompt.prompt_id)
        assert await connector.cancel(prompt.prompt_id)
        assert far.running == []
        assert far.asked.count(("interrupt", prompt.prompt_id)) == 3


async def test_the_atomic_route_is_used_where_there_is_one() -> None:
    async with connected(has_cancel_route=True) as (far, connector):
        prompt = new_prompt(GRAPH)
        await connector.submit(prompt)
        await far.begin(prompt.prompt_id)
        assert await connector.cancel(prompt.prompt_id)
        assert ("cancel", prompt.prompt_id) in far.asked
        assert ("interrupt", prompt.prompt_id) not in far.asked


async def test_who_watches_a_prompt_that_we_cancel_hears_so() -> None:
    async with connected() as (far, connector):
        prompt = new_prompt(GRAPH)
        await connector.submit(prompt)
        await far.begin(prompt.prompt_id)
        watching = asyncio.create_task(watched(connector, prompt))
        await connector.cancel(prompt.prompt_id)
        assert (await watching)[-1] == Cancelled()


async def test_what_has_ended_or_never_was_cannot_be_cancelled() -> None:
    async with connected(instantly=True) as (_, connector):
        prompt = new_prompt(GRAPH)
        await connector.submit(prompt)
        assert not await connector.cancel(prompt.prompt_id)
        assert not await connector.cancel("11111111-1111-4111-8111-111111111111")


async def test_two_prompts_are_watched_over_one_socket() -> None:
    async with connected() as (far, connector):
        prompts = [new_prompt(GRAPH), new_prompt(GRAPH)]
        for prompt in prompts:
            await connector.submit(prompt)
        watching = [asyncio.create_task(watched(connector, prompt)) for prompt in prompts]
        for prompt in prompts:
            await far.begin(prompt.prompt_id)
            await far.finish(prompt.prompt_id)
        told = await asyncio.gather(*watching)
        assert all(isinstance(one[-1], Completed) for one in told)
        assert len(far.sockets) == 1


async def test_a_prompt_of_an_earlier_process_can_be_watched_on() -> None:
    async with connected() as (far, first):
        prompt = new_prompt(GRAPH)
        await first.submit(prompt)
        async with SelfHosted(far.url) as second:
            watching = asyncio.create_task(watched(second, prompt))
            await far.begin(prompt.prompt_id)
            await far.finish(prompt.prompt_id)
            assert isinstance((await watching)[-1], Completed)


async def test_nothing_is_kept_of_prompts_that_are_over() -> None:
    async with connected(instantly=True) as (_, connector):
        for _ in range(3):
            prompt = new_prompt(GRAPH)
            await connector.submit(prompt)
            await watched(connector, prompt)
        assert not connector.socket._feeds
        assert not connector._attempts
        assert not connector._unwatched


async def test_a_closed_connector_says_so() -> None:
    async with connected() as (_, connector):
        await connector.close()
        with pytest.raises(ServerUnreachable, match="closed"):
            await connector.describe()
