"""Protection from scale-in: on while a job is under way, off when the worker is idle."""

import asyncio
import random
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Literal

import structlog

from comfyfleet.kernel.backoff import backoff_s
from comfyfleet.kernel.errors import Refused
from comfyfleet.kernel.exchanges import Kind, timed_exchange
from comfyfleet.worker.interruption.machine import Ec2Machine

CALL_S = 5
# Between two jobs it stays on: a call for each would meet AWS's limits, and say nothing.
LINGER_S = 15.0
RETRY_BASE_S = 2.0
RETRY_CEILING_S = 60.0

log = structlog.get_logger()


class AutoScaling:
    """The two calls, made in threads by the AWS library. Raises whatever that raises."""

    def __init__(self, machine: Ec2Machine, *, endpoint_url: str | None = None) -> None:
        import boto3  # an extra, and slow to load
        from botocore.config import Config

        limits = Config(connect_timeout=CALL_S, read_timeout=CALL_S, retries={"max_attempts": 2})
        self._client: Any = boto3.client(
            "autoscaling", region_name=machine.region, endpoint_url=endpoint_url, config=limits
        )
        self._instance_id = machine.instance_id

    def group(self) -> str | None:
        """None: the instance is in no Auto Scaling group."""
        with timed_exchange(Kind.MACHINE, "DescribeAutoScalingInstances"):
            answer = self._client.describe_auto_scaling_instances(InstanceIds=[self._instance_id])
        found = answer["AutoScalingInstances"]
        return str(found[0]["AutoScalingGroupName"]) if found else None

    def protect(self, group: str, *, on: bool) -> None:
        with timed_exchange(Kind.MACHINE, "SetInstanceProtection"):
            self._client.set_instance_protection(
                InstanceIds=[self._instance_id], AutoScalingGroupName=group, ProtectedFromScaleIn=on
            )

    def close(self) -> None:
        self._client.close()


class ProtectionUnavailable(Refused):
    """The settings ask for protection from scale-in, and it cannot be given."""

    code = "scale_in_protection_unavailable"
    text = "scale_in_protection is 'on', but {problem}. Set it to 'auto' or 'off' to go without."


async def find_protection(
    machine: Ec2Machine | None, wanted: Literal["auto", "on", "off"], *, endpoint_url: str | None = None
) -> "ScaleInProtection | None":
    """None where there is no Auto Scaling group, or nobody wants it."""
    if wanted == "off":
        return None
    try:
        return await _find(machine, endpoint_url)
    except ProtectionUnavailable as problem:
        if wanted == "on":
            raise
        log.info("scale_in.none", problem=problem.facts["problem"])
        return None


async def _find(machine: Ec2Machine | None, endpoint_url: str | None) -> "ScaleInProtection":
    if machine is None:
        raise ProtectionUnavailable(problem="this is no EC2 instance")
    try:
        calls = await asyncio.to_thread(AutoScaling, machine, endpoint_url=endpoint_url)
    except ModuleNotFoundError:
        raise ProtectionUnavailable(problem="boto3 is not installed (pip install 'comfyfleet[aws]')") from None
    try:
        group = await asyncio.to_thread(calls.group)
    except Exception as problem:  # no rights, no network: AWS has many words for it
        raise ProtectionUnavailable(problem=f"AWS could not be asked ({type(problem).__name__})") from None
    if group is None:
        raise ProtectionUnavailable(problem="the instance is in no Auto Scaling group")
    return ScaleInProtection(calls, group)


class ScaleInProtection:
    """`busy_is` may be called from any thread. What AWS says no to is tried again: jobs never wait for it."""

    def __init__(
        self,
        calls: AutoScaling,
        group: str,
        *,
        linger_s: float = LINGER_S,
        retry_base_s: float = RETRY_BASE_S,
        chance: Callable[[], float] = random.random,
    ) -> None:
        self._calls = calls
        self._group = group
        self._linger_s = linger_s
        self._retry_base_s = retry_base_s
        self._chance = chance
        self._loop = asyncio.get_running_loop()
        self._changed = asyncio.Event()
        self._wanted = False
        self._is_on: bool | None = None  # unknown at first: the worker before us may have left it on
        self._call: asyncio.Task[None] | None = None

    def busy_is(self, busy: bool) -> None:
        self._loop.call_soon_threadsafe(self._want, busy)

    def _want(self, busy: bool) -> None:
        if self._wanted != busy:
            self._wanted = busy
            self._changed.set()

    async def run(self) -> None:
        """Until it is cancelled; then the protection is taken off, for whoever ends this worker wants it gone."""
        try:
            while True:
                await self._follow()
                await self._changed.wait()
                self._changed.clear()
        finally:
            if self._call is not None:  # a thread cannot be cancelled, and must not have the last word
                await asyncio.wait([self._call])
            if self._is_on is not False:
                with suppress(Exception):
                    await asyncio.to_thread(self._calls.protect, self._group, on=False)
            self._calls.close()

    async def _follow(self) -> None:
        failures = 0
        while self._wanted != self._is_on:
            wanted = self._wanted
            if not wanted and self._is_on and await self._changes_within(self._linger_s):
                continue
            if await self._apply(wanted):
                failures = 0
                continue
            failures += 1
            wait_s = backoff_s(failures, chance=self._chance(), base_s=self._retry_base_s, ceiling_s=RETRY_CEILING_S)
            await self._changes_within(wait_s)

    async def _changes_within(self, wait_s: float) -> bool:
        with suppress(TimeoutError):
            await asyncio.wait_for(self._changed.wait(), wait_s)
        changed = self._changed.is_set()
        self._changed.clear()
        return changed

    async def _apply(self, wanted: bool) -> bool:
        self._is_on = None  # until AWS has answered, nobody knows
        self._call = asyncio.create_task(asyncio.to_thread(self._calls.protect, self._group, on=wanted))
        try:
            await asyncio.shield(self._call)
        except Exception as problem:  # whatever is wrong at AWS or with our rights there, work goes on
            log.warning("scale_in.not_changed", wanted=wanted, problem=type(problem).__name__)
            return False
        self._is_on = wanted
        log.info("scale_in.protection", on=wanted)
        return True
