"""From a lease to an outcome: inputs, a place on a server, a prompt, what the server makes of it; and its outputs."""

import asyncio
import random
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace

import structlog

from comfyfleet.comfy.connector import Connector
from comfyfleet.comfy.errors import AnswerTooLarge, PromptRefused, ServerUnreachable
from comfyfleet.comfy.model import (
    OUTCOMES,
    Absent,
    Checked,
    Completed,
    Failed,
    FailureClass,
    Outcome,
    Preview,
    Progress,
    Prompt,
    Queued,
    Returned,
    Update,
)
from comfyfleet.comfy.progress import BEFORE_THE_END
from comfyfleet.kernel.backoff import backoff_s
from comfyfleet.kernel.errors import FleetError, Unavailable
from comfyfleet.pool.places import Place
from comfyfleet.wire import worker_v1 as wire
from comfyfleet.worker.clean import forget_prompt
from comfyfleet.worker.control import ControlUnreachable
from comfyfleet.worker.course import Course
from comfyfleet.worker.failpoints import reached
from comfyfleet.worker.fetch_assets import fetched_assets
from comfyfleet.worker.outputs import deliver_outputs
from comfyfleet.worker.prepare import Mark, Work, prepare_graph, read_payload
from comfyfleet.worker.servers import Servers
from comfyfleet.worker.stages import Stage
from comfyfleet.worker.transfer_errors import TransferFailed

LOOKS_APART_S = 2.0  # between the two looks that make a prompt absent
SERVER_AWAY_S = 120.0
PLACE_S = 120.0
# A server that is started again within this time gets the job after all; else it is given back for others.
REFUSED_S = 5.0
LOOK_AT_SERVERS_S = 0.5
OUTPUTS_A_CALL_MAX = 100
CLEAN_S = 30.0

log = structlog.get_logger()


async def run_prompt(course: Course) -> Outcome:
    """Raises what went wrong before there was a prompt."""
    work = read_payload(course.job.input_payload)
    entry = course.entry
    if entry.prompt_id is None or entry.server is None:
        return await _watch(course, await _post(course, work))
    connector = course.tools.servers.connector(entry.server)
    if connector is None:
        return Returned(f"its server {entry.server} is no longer one of this worker's")
    course.place = course.tools.servers.take_back(entry.server, course.job.structure_hash)
    course.may_be_posted = course.may_have_begun = True
    if not entry.posted and await _is_absent(connector, entry.prompt_id):
        course.may_be_posted = course.may_have_begun = False
        return await _watch(course, await _post(course, work))
    log.info("job.found_again", prompt_id=entry.prompt_id, server=entry.server)
    course.hear_log()
    course.say("Found on its server again after a restart of the worker.")
    course.is_found_again()
    weights = course.tools.node_times.weights(course.job.structure_hash, work.graph)
    prompt = Prompt(work.graph, entry.prompt_id, output_node=work.output_node, node_weights=weights)
    return await _watch(course, prompt)


async def _is_absent(connector: Connector, prompt_id: str) -> bool:
    """Twice, for a POST may still be on its way into the queue."""
    if not isinstance(await _find(connector, prompt_id), Absent):
        return False
    await asyncio.sleep(LOOKS_APART_S)
    return isinstance(await _find(connector, prompt_id), Absent)


async def _find(connector: Connector, prompt_id: str) -> object:
    """A server that is just being started is waited for; one that is not even that, not for long."""
    began = time.monotonic()
    tried = 0
    while True:
        try:
            return await connector.find(prompt_id)
        except Unavailable as problem:
            tried += 1
            refused = isinstance(problem, ServerUnreachable) and problem.refused
            if time.monotonic() - began > (REFUSED_S if refused else SERVER_AWAY_S):
                raise
            await asyncio.sleep(backoff_s(tried, chance=1.0, base_s=0.2, ceiling_s=1.0 if refused else 5.0))


async def _post(course: Course, work: Work) -> Prompt:
    tools = course.tools
    course.begin_fetching()
    async with fetched_assets(
        work.assets, cache=tools.cache, transfer=tools.transfer, folder=await course.folder(), renew=course.renew
    ) as paths:
        reached("fetched")
        course.end_fetching()
        if paths:
            course.say(f"Fetched {_count(len(paths), 'input')}.")
        course.place = course.place or await _take_place(course)
        inputs = tools.servers.inputs[course.place.server]
        await course.choose_prompt(course.place.server)
        mark = _mark(course)
        names = await inputs.place(work.assets, paths, mark)
        prompt = _prompt(course, work, names, mark)
        course.to(Stage.SUBMITTING)
        reached("journalled")
        try:
            await _submit(course, course.place.connector, prompt)
        except PromptRefused as refused:
            if not inputs.forget_missing(refused.node_errors, names):
                raise
            # Somebody has swept away what we had put there.
            prompt = _prompt(course, work, await inputs.place(work.assets, paths, mark), mark)
            await _submit(course, course.place.connector, prompt)
    return prompt


async def _take_place(course: Course) -> Place:
    """Behind those that run it waits as long as they take; for a server that is not there it does not."""
    servers, provider = course.tools.servers, course.job.provider
    try:
        async with asyncio.timeout(None) as limit:
            minding = asyncio.create_task(_mind_the_servers(servers, provider, limit))
            try:
                return await servers.take(course.job.structure_hash, provider=provider)
            finally:
                minding.cancel()
    except TimeoutError:
        refused = servers.none_runs(provider)
        raise ServerUnreachable(provider, problem="no server was there for it", sent=False, refused=refused) from None


async def _mind_the_servers(servers: Servers, provider: str, limit: asyncio.Timeout) -> None:
    """Ends the wait when none has been there for too long; sooner where it is certain that none runs."""
    clock = asyncio.get_running_loop()
    seen_at = clock.time()
    while True:
        await asyncio.sleep(LOOK_AT_SERVERS_S)
        if servers.slots.get(provider):
            seen_at = clock.time()
        elif clock.time() - seen_at > (REFUSED_S if servers.none_runs(provider) else PLACE_S):
            limit.reschedule(clock.time())
            return


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _mark(course: Course) -> Mark:
    mark = course.mark
    if mark is None:
        raise TypeError("a prompt has been chosen")
    return mark


def _prompt(course: Course, work: Work, names: dict[str, str], mark: Mark) -> Prompt:
    prompt_id = course.entry.prompt_id or ""
    graph = prepare_graph(work, names, mark)
    weights = course.tools.node_times.weights(course.job.structure_hash, graph)
    return Prompt(graph, prompt_id, output_node=work.output_node, node_weights=weights)


async def _submit(course: Course, connector: Connector, prompt: Prompt) -> None:
    course.may_be_posted = True
    try:
        await connector.submit(prompt)
    except Unavailable as error:
        if isinstance(error, ServerUnreachable) and not error.sent:
            raise
        # The answer is lost, the prompt perhaps not: a second POST would run it twice. The watch finds out.
        log.warning("job.submit_unanswered", problem=error.message)
        course.is_posted()
        await course.write(posted_at=time.time())
        return
    reached("posted")
    course.is_posted()
    course.say("Submitted to ComfyUI.")
    await course.write(posted=True, posted_at=time.time())


async def _watch(course: Course, prompt: Prompt) -> Outcome:
    place = course.place
    if place is None:
        raise TypeError("a prompt has a place")
    updates = place.connector.watch(prompt, deadline_s=max(1.0, course.deadline_left_s))
    try:
        async for heard in updates:
            if isinstance(heard, OUTCOMES):
                course.outcome_known.set()
                if isinstance(heard, Completed) and not course.found_again:  # else its first nodes were not timed
                    await course.tools.node_times.learn(course.job.structure_hash, prompt.graph, heard)
                return heard
            _tell(course, heard)
    finally:
        if hasattr(updates, "aclose"):
            await updates.aclose()
    return Failed(FailureClass.INFRA, "the connector stopped watching without an outcome")


def _tell(course: Course, heard: Update) -> None:
    match heard:
        case Checked():
            if course.job_takes("service_times"):
                course.tools.book.checked(course.proof.dispatch_id)
            course.tools.telemetry.health_checked(heard.action, heard.reason, recovers=heard.recovers)
            if heard.recovers:
                course.say(f"Its end was found by a health check ({heard.reason}).")
                log.info("job.recovered_by_health_check", action=heard.action, reason=heard.reason)
        case Queued():
            course.may_have_begun = False
            course.tools.book.note(course.proof.dispatch_id, status=course.stage.value)
        case Progress():
            course.may_have_begun = True
            course.to(Stage.RUNNING)
            # The job is not over when its prompt is: what it made is still to be delivered.
            heard = replace(heard, fraction=min(heard.fraction, BEFORE_THE_END))
            course.fraction = heard.fraction
            course.trace.at_node(heard.node, heard.node_class)
            course.tools.book.note(course.proof.dispatch_id, progress=heard.fraction, node=heard.node)
            reached("running")
            course.tools.reporter.progress(course.proof, heard)
        case Preview():
            course.may_have_begun = True
            course.to(Stage.RUNNING)
            course.tools.reporter.preview(course.proof, heard)


async def bring_outputs(course: Course, done: Completed) -> list[wire.Output]:
    """To the store, however long it is away, until the job's deadline; from a server that is away, not as long."""
    place, tried, away_s = course.place, 0, 0.0
    if place is None:
        raise TypeError("a prompt has a place")

    async def mint(wanted: Sequence[wire.WantedOutput]) -> list[wire.OutputUrl]:
        return await _mint(course, wanted)

    while True:
        try:
            course.say(f"Uploading {_count(len(done.outputs), 'output')}.")
            delivered = await deliver_outputs(
                done.outputs,
                connector=place.connector,
                transfer=course.tools.transfer,
                mint=mint,
                folder=await course.folder(),
                locate=course.tools.servers.files[place.server].locate,
            )
            course.say(f"Uploaded {_count(len(delivered), 'output')}.")
            return delivered
        except AnswerTooLarge:
            raise
        except Unavailable as error:
            tried += 1
            wait_s = backoff_s(tried, chance=random.random(), base_s=0.2, ceiling_s=15.0)  # noqa: S311
            if not isinstance(error, TransferFailed | ControlUnreachable):
                away_s += wait_s
            if away_s > SERVER_AWAY_S or course.deadline_left_s < wait_s:
                raise
            log.warning("job.outputs_not_brought", tried=tried, problem=error.message)
            await asyncio.sleep(wait_s)


async def _mint(course: Course, wanted: Sequence[wire.WantedOutput]) -> list[wire.OutputUrl]:
    minted: list[wire.OutputUrl] = []
    for start in range(0, len(wanted), OUTPUTS_A_CALL_MAX):
        said = wire.Outputs(
            worker_id=course.tools.control.session.worker_id,
            dispatch_id=course.proof.dispatch_id,
            lease_token=course.proof.lease_token,
            outputs=list(wanted[start : start + OUTPUTS_A_CALL_MAX]),
        )
        minted += await course.tools.control.outputs(said)
    return minted


async def withdraw(course: Course, *, within_s: float = 15.0) -> None:
    """As well as it goes: out of the server's queue, or interrupted."""
    connector = course.tools.servers.connector(course.entry.server or "")
    if connector is None or course.entry.prompt_id is None:
        return
    with suppress(FleetError, TimeoutError):
        async with asyncio.timeout(within_s):
            await connector.cancel(course.entry.prompt_id)


async def clean_up(course: Course, done: Completed | None) -> None:
    """What the job left, here and on the server. Trouble with it is no trouble of the job's."""
    tools, mark = course.tools, course.mark
    server = course.entry.server or ""
    connector = tools.servers.connector(server)
    try:
        async with asyncio.timeout(CLEAN_S):
            if connector is not None and course.entry.prompt_id is not None:
                await forget_prompt(connector, course.entry.prompt_id)
            if mark is not None and server in tools.servers.inputs:
                await tools.servers.inputs[server].release(mark)
                await tools.servers.files[server].remove(mark, done.outputs if done else ())
            await tools.folders.discard(course.entry.dispatch_id, course.job.epoch)
    except (FleetError, OSError, TimeoutError) as problem:
        log.warning("job.not_cleaned", problem=str(problem) or type(problem).__name__)
