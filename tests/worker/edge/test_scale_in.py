"""Protection from scale-in: against moto's Auto Scaling group, and against a far end of our own that refuses."""

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs

import boto3
import pytest
from moto import mock_aws

from comfyfleet.worker.interruption import Ec2Machine, ScaleInProtection, find_protection
from comfyfleet.worker.interruption.scale_in import AutoScaling, ProtectionUnavailable

MACHINE = Ec2Machine("i-0123456789abcdef0", "eu-central-1")
FOUND = """<DescribeAutoScalingInstancesResponse xmlns="http://autoscaling.amazonaws.com/doc/2011-01-01/">
<DescribeAutoScalingInstancesResult><AutoScalingInstances>{}</AutoScalingInstances>
</DescribeAutoScalingInstancesResult></DescribeAutoScalingInstancesResponse>"""
MEMBER = (
    f"<member><InstanceId>{MACHINE.instance_id}</InstanceId><AutoScalingGroupName>gpus</AutoScalingGroupName></member>"
)
DONE = """<SetInstanceProtectionResponse xmlns="http://autoscaling.amazonaws.com/doc/2011-01-01/">
<SetInstanceProtectionResult/></SetInstanceProtectionResponse>"""
REFUSED = """<ErrorResponse xmlns="http://autoscaling.amazonaws.com/doc/2011-01-01/"><Error><Type>Sender</Type>
<Code>AccessDenied</Code><Message>no</Message></Error></ErrorResponse>"""


@dataclass
class Aws:
    port: int = 0
    in_group: bool = True
    refuses: int = 0
    protected: list[bool] = field(default_factory=list)  # as it was set, one after the other
    changed: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        length = next(int(line.split(b":")[1]) for line in head.lower().split(b"\r\n") if b"content-length" in line)
        status, text = self._answer(parse_qs((await reader.readexactly(length)).decode()))
        writer.write(b"HTTP/1.1 %d X\r\ncontent-type: text/xml\r\ncontent-length: %d\r\n" % (status, len(text)))
        writer.write(b"connection: close\r\n\r\n" + text.encode())
        await writer.drain()
        writer.close()
        self.changed.set()

    def _answer(self, asked: dict[str, list[str]]) -> tuple[int, str]:
        if self.refuses > 0:
            self.refuses -= 1
            return 403, REFUSED
        if asked["Action"] == ["DescribeAutoScalingInstances"]:
            return 200, FOUND.format(MEMBER if self.in_group else "")
        assert asked["AutoScalingGroupName"] == ["gpus"]
        assert asked["InstanceIds.member.1"] == [MACHINE.instance_id]
        self.protected.append(asked["ProtectedFromScaleIn"] == ["true"])
        return 200, DONE

    async def until(self, holds: Callable[[], bool]) -> None:
        async with asyncio.timeout(30):
            while not holds():
                self.changed.clear()
                await self.changed.wait()


@pytest.fixture
async def aws(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Aws]:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "of-a-test")
    found = Aws()
    server = await asyncio.start_server(found.serve, "127.0.0.1", 0)
    found.port = server.sockets[0].getsockname()[1]
    yield found
    server.close()


async def test_it_is_on_while_the_worker_is_busy_and_off_when_it_is_idle_or_leaves(aws: Aws) -> None:
    calls = await asyncio.to_thread(AutoScaling, MACHINE, endpoint_url=aws.url)
    assert await asyncio.to_thread(calls.group) == "gpus"
    protection = ScaleInProtection(calls, "gpus", linger_s=0.05)
    running = asyncio.create_task(protection.run())
    await aws.until(lambda: aws.protected == [False])  # what a worker before it left on is taken off
    protection.busy_is(True)
    await aws.until(lambda: aws.protected == [False, True])
    protection.busy_is(False)
    await aws.until(lambda: aws.protected == [False, True, False])
    protection.busy_is(True)
    await aws.until(lambda: aws.protected[3:] == [True])
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    assert aws.protected[4:] == [False]


async def test_between_two_jobs_it_stays_on_and_what_aws_refuses_is_tried_again(aws: Aws) -> None:
    calls = await asyncio.to_thread(AutoScaling, MACHINE, endpoint_url=aws.url)
    protection = ScaleInProtection(calls, "gpus", linger_s=60.0, retry_base_s=0.02)
    protection.busy_is(True)
    aws.refuses = 2
    running = asyncio.create_task(protection.run())
    await aws.until(lambda: True in aws.protected)
    for busy in (False, True, False, True):
        protection.busy_is(busy)
        await asyncio.sleep(0.01)
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    assert [*dict.fromkeys(aws.protected[-2:])] == [True, False]
    assert aws.protected.count(True) == 1


async def test_whether_there_is_a_group_is_asked_and_on_must_mean_on(aws: Aws) -> None:
    assert await find_protection(MACHINE, "off") is None
    assert await find_protection(None, "auto") is None
    with pytest.raises(ProtectionUnavailable, match="no EC2 instance"):
        await find_protection(None, "on")
    aws.in_group = False
    with pytest.raises(ProtectionUnavailable, match="no Auto Scaling group"):
        await find_protection(MACHINE, "on", endpoint_url=aws.url)
    aws.refuses = 10
    assert await find_protection(MACHINE, "auto", endpoint_url=aws.url) is None


def a_group_of_one(region: str) -> tuple[Any, str]:
    """An Auto Scaling group with one instance, and that instance's id."""
    ec2, scaling = boto3.client("ec2", region_name=region), boto3.client("autoscaling", region_name=region)
    image_id = ec2.describe_images(Owners=["amazon"])["Images"][0]["ImageId"]
    scaling.create_launch_configuration(LaunchConfigurationName="gpu", ImageId=image_id, InstanceType="g5.xlarge")
    scaling.create_auto_scaling_group(
        AutoScalingGroupName="gpus",
        LaunchConfigurationName="gpu",
        MinSize=0,
        MaxSize=2,
        DesiredCapacity=1,
        AvailabilityZones=[f"{region}a"],
    )
    [found] = scaling.describe_auto_scaling_instances()["AutoScalingInstances"]
    return scaling, found["InstanceId"]


async def test_the_group_keeps_an_instance_that_works(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "of-a-test")
    with mock_aws():
        scaling, instance_id = a_group_of_one(MACHINE.region)

        def protected() -> bool:
            [found] = scaling.describe_auto_scaling_instances(InstanceIds=[instance_id])["AutoScalingInstances"]
            return bool(found["ProtectedFromScaleIn"])

        async def until(on: bool) -> None:
            async with asyncio.timeout(30):
                while protected() is not on:  # noqa: ASYNC110 moto tells nobody
                    await asyncio.sleep(0.02)

        protection = await find_protection(Ec2Machine(instance_id, MACHINE.region), "on")
        assert protection is not None
        running = asyncio.create_task(protection.run())
        protection.busy_is(True)
        await until(on=True)
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        assert not protected()
        scaling.close()
