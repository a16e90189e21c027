"""An operator's program provides the machines: for RunPod, Vast, Slurm, or anything that a script can call.

It gets one JSON object on stdin and prints one on stdout:

    {"action": "describe", "fleet": "video/production"}
        → {"machines": [{"id", "state": "pending"|"running"|"stopping", "launched_at_s",
                         "market": "spot"|"on_demand", "class", "zone"}]}
    {"action": "launch", "fleet", "class", "market", "zone", "number", "token"}
        → {"ids": [...], "errors": [{"problem": "capacity"|"quota"|"refused", "text", "number"}]}
    {"action": "terminate", "fleet", "ids": [...]}  → {}

The same token again must launch nothing and give the same answer. The worker of a machine registers by its id.
"""

import asyncio
import contextlib
import os
import shlex
import signal
import time
from asyncio.subprocess import PIPE
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import msgspec

from comfyfleet.kernel.durations import seconds_text
from comfyfleet.kernel.errors import InvalidInput
from comfyfleet.machines.model import AdapterProblem
from comfyfleet.scaling import CloudMachine, CloudState, LaunchAnswer, LaunchError, LaunchProblem, LaunchRequest, Market

ANSWER_BYTES_MAX = 16 * 1024**2
SAID_CHARS_MAX = 300
TIMEOUT_S, TIMEOUT_S_MAX = 30.0, 300.0
KILLED_WITHIN_S = 2.0


class CommandSettings(msgspec.Struct, forbid_unknown_fields=True):
    """`command`: as a shell reads it, but without a shell. `environment`: beside PATH and HOME."""

    command: str
    timeout_s: float = TIMEOUT_S
    environment: dict[str, str] = {}


class _Machine(msgspec.Struct, rename={"machine_class": "class"}):
    id: str
    state: CloudState
    machine_class: str = ""
    launched_at_s: float | None = None
    market: Market = Market.ON_DEMAND
    zone: str = ""


class _Described(msgspec.Struct):
    machines: list[_Machine]


class _Error(msgspec.Struct):
    problem: LaunchProblem
    text: str = ""
    number: int = 1


class _Launched(msgspec.Struct):
    ids: list[str]
    errors: list[_Error] = []


class _Terminated(msgspec.Struct):
    pass


Answer = TypeVar("Answer", _Described, _Launched, _Terminated)


def check_settings(settings: Mapping[str, Any]) -> CommandSettings:
    try:
        read = msgspec.convert(dict(settings), CommandSettings)
    except msgspec.ValidationError as problem:
        raise InvalidInput("adapter_settings", str(problem)) from None
    try:
        words = shlex.split(read.command)
    except ValueError as problem:
        raise InvalidInput("adapter_settings.command", f"cannot be read as a shell reads it: {problem}") from None
    if not words:
        raise InvalidInput("adapter_settings.command", "is empty; name the program that provides the machines")
    if not 1.0 <= read.timeout_s <= TIMEOUT_S_MAX:
        raise InvalidInput("adapter_settings.timeout_s", f"is {read.timeout_s:g}; allowed: 1 to {TIMEOUT_S_MAX:g}")
    return read


def build(fleet: str, settings: Mapping[str, Any]) -> "CommandMachines":
    return CommandMachines(fleet, check_settings(settings))


@dataclass(frozen=True, slots=True)
class CommandMachines:
    fleet: str
    settings: CommandSettings

    async def describe(self) -> Sequence[CloudMachine]:
        answer = await self._ask({"action": "describe"}, _Described)
        return [
            CloudMachine(
                each.id,
                each.state,
                each.launched_at_s if each.launched_at_s is not None else time.time(),
                each.market,
                each.machine_class,
                each.zone,
            )
            for each in answer.machines
        ]

    async def launch(self, request: LaunchRequest, token: str) -> LaunchAnswer:
        asked = {
            "action": "launch",
            "class": request.machine_class,
            "market": request.market.value,
            "zone": request.zone,
            "number": request.number,
            "token": token,
        }
        answer = await self._ask(asked, _Launched)
        errors = tuple(LaunchError(each.problem, each.text, each.number) for each in answer.errors)
        return LaunchAnswer(tuple(answer.ids), errors)

    async def terminate(self, ids: Sequence[str]) -> None:
        await self._ask({"action": "terminate", "ids": list(ids)}, _Terminated)

    async def _ask(self, question: Mapping[str, Any], kind: type[Answer]) -> Answer:
        said = await self._run(msgspec.json.encode({**question, "fleet": self.fleet}), str(question["action"]))
        try:
            return msgspec.json.decode(said, type=kind)
        except (msgspec.DecodeError, UnicodeDecodeError) as problem:
            shown = said[:SAID_CHARS_MAX].decode(errors="replace").strip()
            raise self._problem(
                f"answered {question['action']} with no JSON of its kind ({problem}): {shown!r}"
            ) from None

    async def _run(self, question: bytes, action: str) -> bytes:
        """Our own environment is not its: it holds secrets of the server."""
        passed = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
        try:
            process = await asyncio.create_subprocess_exec(
                *shlex.split(self.settings.command),
                stdin=PIPE,
                stdout=PIPE,
                stderr=PIPE,
                env={**passed, **self.settings.environment},
                start_new_session=True,
            )
        except OSError as problem:
            raise self._problem(f"cannot be started: {problem.strerror or problem}") from None
        try:
            async with asyncio.timeout(self.settings.timeout_s):
                said, complained = await process.communicate(question)
        except TimeoutError:
            raise self._problem(f"gave no answer to {action} within {seconds_text(self.settings.timeout_s)}") from None
        finally:
            await _end(process)
        if process.returncode:
            shown = complained[-SAID_CHARS_MAX:].decode(errors="replace").strip()
            raise self._problem(f"ended {action} with exit code {process.returncode}: {shown or 'it said nothing'}")
        if len(said) > ANSWER_BYTES_MAX:
            raise self._problem(f"answered {action} with {len(said)} bytes, at most {ANSWER_BYTES_MAX} are read")
        return said

    def _problem(self, text: str) -> AdapterProblem:
        return AdapterProblem("command", f"{shlex.split(self.settings.command)[0]} {text}")


async def _end(process: asyncio.subprocess.Process) -> None:
    """With whatever it has started."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(KILLED_WITHIN_S):
            await process.wait()
