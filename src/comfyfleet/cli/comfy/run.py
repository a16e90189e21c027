"""`comfyfleet comfy run`"""

import asyncio
import json
import os
import time
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import typer

from comfyfleet.api.logs import configure_logs
from comfyfleet.cli.comfy.progress import Bar, Previews, follow
from comfyfleet.cli.comfy.values import Given, UnknownName, bind_given, parse_pairs
from comfyfleet.cli.output import print_json
from comfyfleet.comfy.cloud import CLOUD_URL, CloudConnector, CloudSettings
from comfyfleet.comfy.connector import Connector
from comfyfleet.comfy.graph import find_placeholders, is_interface_format, load_graph, read_workflow
from comfyfleet.comfy.model import FailureClass
from comfyfleet.comfy.outputs import manifest
from comfyfleet.comfy.self_hosted import SelfHosted
from comfyfleet.kernel.durations import seconds_text
from comfyfleet.kernel.errors import FleetError, InvalidInput, Unavailable
from comfyfleet.pool import JobResult, Pool, RunCancelled, RunFailed
from comfyfleet.pool.model import ServerState

CLOUD = "cloud"
CLOUD_URL_VARIABLE = "COMFY_CLOUD_URL"
CANCEL_S = 20.0
INTERRUPTED = 130
FAILED = 1
REFUSED = 2
UNREACHABLE = 6
DROPPED = 7
CODES = {
    FailureClass.WORKFLOW_INVALID: REFUSED,
    FailureClass.USER_INPUT: REFUSED,
    FailureClass.INFRA: UNREACHABLE,
    FailureClass.SERVER_FAULT: UNREACHABLE,
}


class NoServerLeft(Unavailable):
    """It was there at the start, and is gone."""

    code = "no_server_left"
    text = "No server has been there for {wait_s:time} ({servers}). Start one of them again, or name another: --server."

    def __init__(self, servers: Sequence[str], *, wait_s: float) -> None:
        super().__init__(servers=", ".join(servers), wait_s=wait_s)


@dataclass(frozen=True, slots=True)
class Wanted:
    """The command line, read."""

    workflow: Mapping[str, Any]
    sets: Mapping[str, str]
    files: Mapping[str, str]
    out: Path
    output_node: str | None
    deadline_s: float
    attempts_max: int
    wait_s: float


def run_workflow(
    workflow: Path,
    *,
    sets: Sequence[str],
    files: Sequence[str],
    servers: Sequence[str],
    out: Path,
    output_node: str | None,
    deadline_s: float,
    attempts_max: int,
    wait_s: float,
    bearer: str | None,
    as_json: bool,
) -> None:
    configure_logs("auto", "critical")
    _require_folder(out)
    wanted = Wanted(
        workflow=read_workflow(workflow),
        sets=parse_pairs(sets, option="--set"),
        files=parse_pairs(files, option="--input"),
        out=out,
        output_node=output_node,
        deadline_s=deadline_s,
        attempts_max=attempts_max,
        wait_s=wait_s,
    )
    started = time.monotonic()
    try:
        result = asyncio.run(_run(wanted, servers, bearer=bearer, quiet=as_json))
    except KeyboardInterrupt:
        typer.echo("Stopped.", err=True)
        raise typer.Exit(INTERRUPTED) from None
    except RunCancelled as cancelled:
        typer.echo(cancelled.message, err=True)
        raise typer.Exit(FAILED) from None
    except RunFailed as failed:
        _tell_failure(failed, as_json=as_json)
        raise typer.Exit(CODES.get(failed.failure.failure, FAILED)) from None
    _tell(result, out, seconds=time.monotonic() - started, as_json=as_json)
    if result.node_errors:
        raise typer.Exit(DROPPED)


def _require_folder(out: Path) -> None:
    """Before anything runs: a result that has nowhere to go has cost as much as another."""
    nearest = next(each for each in (out, *out.absolute().parents) if each.exists())
    if not nearest.is_dir() or not os.access(nearest, os.W_OK):
        raise InvalidInput("--out", f"{nearest} is no folder that can be written to")


async def _run(wanted: Wanted, servers: Sequence[str], *, bearer: str | None, quiet: bool) -> JobResult:
    async with AsyncExitStack() as stack:
        bar = stack.enter_context(Bar(quiet=quiet))
        connectors = await _reachable([_connector(server, bearer=bearer) for server in servers], bar)
        for connector in connectors:
            stack.push_async_callback(connector.close)
        given = await _given(wanted, connectors[0])
        pool = await stack.enter_async_context(Pool(connectors, reconnect_grace_s=0.0))
        return await _conduct(pool, wanted, given, bar)


def _connector(server: str, *, bearer: str | None) -> Connector:
    if server != CLOUD:
        return SelfHosted(server, bearer=bearer)
    return CloudConnector(settings=CloudSettings(url=os.environ.get(CLOUD_URL_VARIABLE) or CLOUD_URL))


async def _reachable(connectors: list[Connector], bar: Bar) -> list[Connector]:
    """Those that answer now. One that does not is no reason to stop while another does."""
    answers = await asyncio.gather(*(connector.describe() for connector in connectors), return_exceptions=True)
    found, errors = [], []
    for connector, answer in zip(connectors, answers, strict=True):
        if isinstance(answer, BaseException):
            errors.append(answer)
            await connector.close()
        else:
            found.append(connector)
    if not found:
        raise errors[0]
    for error in errors:
        bar.say(f"Going on without it: {error}")
    return found


async def _given(wanted: Wanted, first: Connector) -> Given:
    """Asks the server for its node classes only where nothing else tells: it is a long answer."""
    interface = is_interface_format(wanted.workflow)
    object_info = await first.object_info() if interface else None
    graph = load_graph(wanted.workflow, object_info=object_info)
    if wanted.output_node is not None and wanted.output_node not in graph:
        raise InvalidInput("--output-node", f"the workflow has no node {wanted.output_node}")
    if object_info is None and find_placeholders(graph):
        object_info = await first.object_info()
    try:
        return bind_given(graph, wanted.sets, wanted.files, object_info=object_info)
    except UnknownName:
        if object_info is not None:
            raise
    return bind_given(graph, wanted.sets, wanted.files, object_info=await first.object_info())


async def _conduct(pool: Pool, wanted: Wanted, given: Given, bar: Bar) -> JobResult:
    previews = Previews(wanted.out / "previews")
    following = asyncio.create_task(follow(pool.events(), bar, previews))
    handle = await pool.submit(
        given.graph,
        inputs=given.files,
        output_node=wanted.output_node,
        save_to=wanted.out,
        deadline_s=wanted.deadline_s,
        attempts_max=wanted.attempts_max,
    )
    result = asyncio.ensure_future(handle.result())
    gone = asyncio.create_task(_all_gone(pool, wait_s=wanted.wait_s))
    try:
        await asyncio.wait({result, gone}, return_when=asyncio.FIRST_COMPLETED)
        if not result.done():
            raise NoServerLeft([server.name for server in pool.servers], wait_s=wanted.wait_s)
        return await result
    except (asyncio.CancelledError, NoServerLeft) as stop:
        if not isinstance(stop, NoServerLeft):
            bar.say("Stopping it on the server …")
        with suppress(FleetError, TimeoutError):
            async with asyncio.timeout(CANCEL_S):
                await handle.cancel(reason="Ctrl-C")
        raise
    finally:
        for task in (following, gone, result):
            task.cancel()
        await asyncio.gather(following, gone, result, return_exceptions=True)


async def _all_gone(pool: Pool, *, wait_s: float) -> None:
    """Returns when no server has been there for so long. A pool waits for ever; a person does not."""
    changes = pool.events("client:state")
    while True:
        here = any(server.state in (ServerState.ONLINE, ServerState.RECOVERING) for server in pool.servers)
        try:
            async with asyncio.timeout(None if here else wait_s):
                await anext(changes)
        except TimeoutError:
            return


def _tell(result: JobResult, out: Path, *, seconds: float, as_json: bool) -> None:
    told = {
        "server": result.server,
        "prompt_id": result.job.prompt_id,
        "attempts": result.job.attempts,
        "seconds": round(seconds, 3),
        "files": manifest(result.files),
        "dropped_outputs": [f"node {error.node}: {error.message}" for error in result.node_errors],
    }
    out.mkdir(parents=True, exist_ok=True)
    (out / "manifest.json").write_text(json.dumps(told, indent=2) + "\n")
    if as_json:
        print_json(told)
        return
    for file in result.files:
        typer.echo(f"{file.path}\t{file.output.media_type}\t{file.bytes} bytes")
    for dropped in result.node_errors:
        typer.echo(f"Error: the server refused node {dropped.node}, which made nothing: {dropped.message}", err=True)
    if result.node_errors:
        typer.echo(
            f"Done in part on {result.server} in {seconds_text(seconds)}: not every output of the workflow is there.",
            err=True,
        )
    else:
        typer.echo(f"Done on {result.server} in {seconds_text(seconds)}.", err=True)


def _tell_failure(failed: RunFailed, *, as_json: bool) -> None:
    failure = failed.failure
    where = f" at node {failure.node} ({failure.node_class})" if failure.node else ""
    if as_json:
        body = {
            "code": failed.code,
            "class": failure.failure,
            "message": failure.message,
            "node": failure.node,
            "node_class": failure.node_class,
            "exception_type": failure.exception_type,
            "server": failed.server,
        }
        typer.echo(json.dumps({"error": body}), err=True)
    else:
        typer.echo(f"Failed on {failed.server}{where}, {failure.failure}: {failure.message}", err=True)
