"""A far end that speaks as AWS does: Auto Scaling groups that start instances late or not at all, refuse, and end them.

moto knows no LaunchInstances, no pending instance, no failed activity and no limit of a group: this does.
"""

import itertools
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs
from xml.sax.saxutils import escape

AUTOSCALING = "http://autoscaling.amazonaws.com/doc/2011-01-01/"
EC2 = "http://ec2.amazonaws.com/doc/2016-11-15/"


# CloudWatch speaks another protocol, and here it refuses everything.
DENIED = b'{"__type": "AccessDenied", "message": "no"}'
_numbers = itertools.count(1)


@dataclass
class FakeInstance:
    id: str
    zone: str
    launched_at: float
    state: str = "InService"


@dataclass
class FakeGroup:
    """`capacity`: how many instances AWS has for it. `starts`: whether it starts what is desired."""

    name: str
    most: int = 10
    least: int = 0
    desired: int = 0
    zones: tuple[str, ...] = ("eu-central-1a",)
    suspended: tuple[str, ...] = ()
    policy: tuple[int, int] | None = None  # base and share of on-demand
    weights: str | None = None
    capacity: int = 1_000
    starts: bool = True
    instances: list[FakeInstance] = field(default_factory=list)
    failures: list[tuple[float, str]] = field(default_factory=list)

    @property
    def standing(self) -> list[FakeInstance]:
        return [each for each in self.instances if not each.state.startswith("Terminat")]


class Refusal(Exception):
    def __init__(self, code: str, text: str = "no", status: int = 400) -> None:
        super().__init__(code)
        self.code, self.text, self.status = code, text, status


@dataclass
class FakeAws:
    groups: dict[str, FakeGroup] = field(default_factory=dict)
    refuses: dict[str, Refusal] = field(default_factory=dict)  # by action; "*": every one
    refuses_times: dict[str, int] = field(default_factory=dict)  # only so often
    calls: list[tuple[str, dict[str, str]]] = field(default_factory=list)
    url: str = ""
    _tokens: dict[str, tuple[str, list[str]]] = field(default_factory=dict)
    _one_at_a_time: threading.Lock = field(default_factory=threading.Lock)

    def add(self, name: str, **given: Any) -> FakeGroup:
        self.groups[name] = FakeGroup(name, **given)
        return self.groups[name]

    def forget(self) -> None:
        """As new, at the same address: clients are kept by it."""
        for each in (self.groups, self.refuses, self.refuses_times, self.calls, self._tokens):
            each.clear()

    def count(self, action: str) -> int:
        return sum(name == action for name, _ in self.calls)

    def settle(self) -> None:
        """AWS starts what is desired, as far as it can, and forgets what has ended."""
        for group in self.groups.values():
            group.instances = [each for each in group.instances if not each.state.startswith("Terminat")]
            while group.starts and len(group.instances) < group.desired:
                if len(group.instances) >= group.capacity:
                    text = "We currently do not have sufficient g5.xlarge capacity. Launching EC2 instance failed."
                    group.failures.append((time.time() + 1, text))
                    break
                self._start(group, group.zones[0], "Pending")

    def _start(self, group: FakeGroup, zone: str, state: str = "Pending") -> str:
        name = f"i-{next(_numbers):017x}"
        group.instances.append(FakeInstance(name, zone, time.time(), state))
        return name

    # ── the actions ──

    def answer(self, body: str) -> tuple[int, str]:
        said = {key: values[0] for key, values in parse_qs(body).items()}
        action = said["Action"]
        with self._one_at_a_time:
            self.calls.append((action, said))
            try:
                return 200, getattr(self, f"_{action}", self._unknown)(said) if self._may(action) else ""
            except Refusal as refusal:
                if action == "DescribeInstances":
                    error = (
                        f"<Errors><Error><Code>{refusal.code}</Code><Message>{refusal.text}</Message></Error></Errors>"
                    )
                    return refusal.status, f"<Response>{error}<RequestID>1</RequestID></Response>"
                error = f"<Type>Sender</Type><Code>{refusal.code}</Code><Message>{escape(refusal.text)}</Message>"
                return refusal.status, f'<ErrorResponse xmlns="{AUTOSCALING}"><Error>{error}</Error></ErrorResponse>'

    def _may(self, action: str) -> bool:
        refusal = self.refuses.get(action) or self.refuses.get("*")
        if refusal is not None:
            left = self.refuses_times.get(action, 1_000_000)
            self.refuses_times[action] = left - 1
            if left > 0:
                raise refusal
        return True

    def _unknown(self, said: dict[str, str]) -> str:
        raise Refusal("InvalidAction", f"Could not find operation {said['Action']}")

    def _DescribeAutoScalingGroups(self, said: dict[str, str]) -> str:
        names = _members(said, "AutoScalingGroupNames.member")
        shown = "".join(_group(self.groups[each]) for each in names if each in self.groups)
        return _reply("DescribeAutoScalingGroups", f"<AutoScalingGroups>{shown}</AutoScalingGroups>")

    def _DescribeAutoScalingInstances(self, said: dict[str, str]) -> str:
        asked = _members(said, "InstanceIds.member")
        shown = "".join(
            f"<member>{_instance(each)}<AutoScalingGroupName>{group.name}</AutoScalingGroupName></member>"
            for group in self.groups.values()
            for each in group.instances
            if each.id in asked
        )
        return _reply("DescribeAutoScalingInstances", f"<AutoScalingInstances>{shown}</AutoScalingInstances>")

    def _DescribeScalingActivities(self, said: dict[str, str]) -> str:
        shown = "".join(
            f"<member><ActivityId>1</ActivityId><StatusCode>Failed</StatusCode><StartTime>{_iso(at)}</StartTime>"
            f"<Description>Launching a new EC2 instance. Status Reason: {text}</Description>"
            f"<StatusMessage>{text}</StatusMessage></member>"
            for at, text in reversed(self._group(said).failures)
        )
        return _reply("DescribeScalingActivities", f"<Activities>{shown}</Activities>")

    def _SetDesiredCapacity(self, said: dict[str, str]) -> str:
        group, wanted = self._group(said), int(said["DesiredCapacity"])
        if not group.least <= wanted <= group.most:
            text = f"New SetDesiredCapacity value {wanted} is above max value {group.most} for the AutoScalingGroup."
            raise Refusal("ValidationError", text)
        group.desired = wanted
        return _reply("SetDesiredCapacity", "")

    def _LaunchInstances(self, said: dict[str, str]) -> str:
        group, token = self._group(said), said["ClientToken"]
        assert said["RetryStrategy"] == "none"
        asked = f"{group.name} {said['RequestedCapacity']} {said.get('AvailabilityZones.member.1', '')}"
        if token in self._tokens and self._tokens[token][0] != asked:
            raise Refusal("IdempotentParameterMismatch", "the token was used with other parameters")
        if token not in self._tokens:
            zone = said.get("AvailabilityZones.member.1", group.zones[0])
            room = min(int(said["RequestedCapacity"]), max(0, group.capacity - len(group.standing)))
            ids = [self._start(group, zone) for _ in range(room)]
            group.desired += len(ids)
            self._tokens[token] = (asked, ids)
        ids = self._tokens[token][1]
        shown = "".join(f"<member>{each}</member>" for each in ids)
        missing = int(said["RequestedCapacity"]) - len(ids)
        error = (
            "<member><InstanceType>g5.xlarge</InstanceType><MarketType>spot</MarketType>"
            "<ErrorCode>InsufficientInstanceCapacity</ErrorCode><ErrorMessage>none left</ErrorMessage></member>"
        )
        return _reply(
            "LaunchInstances",
            f"<ClientToken>{token}</ClientToken><Instances><member><InstanceType>g5.xlarge</InstanceType>"
            f"<InstanceIds>{shown}</InstanceIds></member></Instances><Errors>{error if missing else ''}</Errors>",
        )

    def _TerminateInstanceInAutoScalingGroup(self, said: dict[str, str]) -> str:
        assert said["ShouldDecrementDesiredCapacity"] == "true"
        for group in self.groups.values():
            for each in group.standing:
                if each.id == said["InstanceId"]:
                    each.state = "Terminating"
                    group.desired -= 1
                    return _reply("TerminateInstanceInAutoScalingGroup", "<Activity/>")
        raise Refusal("ValidationError", f"Instance Id not found - No managed instance found for {said['InstanceId']}")

    def _DescribeInstances(self, said: dict[str, str]) -> str:
        assert said["Filter.1.Name"] == "tag:aws:autoscaling:groupName"
        names = [value for key, value in said.items() if key.startswith("Filter.1.Value.")]
        shown = "".join(
            f"<item><instancesSet><item><instanceId>{each.id}</instanceId><launchTime>{_iso(each.launched_at)}</launchTime>"
            "</item></instancesSet></item>"
            for name in names
            for each in (self.groups[name].instances if name in self.groups else [])
        )
        found = f"<reservationSet>{shown}</reservationSet>"
        return f'<DescribeInstancesResponse xmlns="{EC2}">{found}</DescribeInstancesResponse>'

    def _group(self, said: dict[str, str]) -> FakeGroup:
        name = said["AutoScalingGroupName"]
        if name not in self.groups:
            raise Refusal("ValidationError", f"AutoScalingGroup name not found - AutoScalingGroup {name} not found")
        return self.groups[name]


@contextmanager
def fake_aws() -> Iterator[FakeAws]:
    aws = FakeAws()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            if "x-amz-target" in self.headers:
                status, kind, said = 403, "application/x-amz-json-1.0", DENIED
            else:
                status, text = aws.answer(body.decode())
                kind, said = "text/xml", text.encode()
            self.send_response_only(status)
            self.send_header("date", formatdate(time.time(), usegmt=True))
            self.send_header("content-type", kind)
            self.send_header("content-length", str(len(said)))
            self.end_headers()
            self.wfile.write(said)

        def log_message(self, format: str, *args: object) -> None:
            return

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    aws.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield aws
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def _members(said: dict[str, str], prefix: str) -> list[str]:
    return [value for key, value in said.items() if key.startswith(f"{prefix}.")]


def _reply(action: str, text: str) -> str:
    return f'<{action}Response xmlns="{AUTOSCALING}"><{action}Result>{text}</{action}Result></{action}Response>'


def _instance(each: FakeInstance) -> str:
    return (
        f"<InstanceId>{each.id}</InstanceId><AvailabilityZone>{each.zone}</AvailabilityZone>"
        f"<LifecycleState>{each.state}</LifecycleState><HealthStatus>Healthy</HealthStatus>"
    )


def _group(group: FakeGroup) -> str:
    zones = "".join(f"<member>{each}</member>" for each in group.zones)
    suspended = "".join(f"<member><ProcessName>{each}</ProcessName></member>" for each in group.suspended)
    instances = "".join(f"<member>{_instance(each)}</member>" for each in group.instances)
    policy = ""
    if group.policy is not None:
        base, share = group.policy
        weight = f"<WeightedCapacity>{group.weights}</WeightedCapacity>" if group.weights else ""
        policy = (
            f"<MixedInstancesPolicy><LaunchTemplate><Overrides><member>{weight}</member></Overrides></LaunchTemplate>"
            f"<InstancesDistribution><OnDemandBaseCapacity>{base}</OnDemandBaseCapacity>"
            f"<OnDemandPercentageAboveBaseCapacity>{share}</OnDemandPercentageAboveBaseCapacity>"
            "</InstancesDistribution></MixedInstancesPolicy>"
        )
    return (
        f"<member><AutoScalingGroupName>{group.name}</AutoScalingGroupName><MinSize>{group.least}</MinSize>"
        f"<MaxSize>{group.most}</MaxSize><DesiredCapacity>{group.desired}</DesiredCapacity>"
        f"<AvailabilityZones>{zones}</AvailabilityZones><Instances>{instances}</Instances>{policy}"
        f"<SuspendedProcesses>{suspended}</SuspendedProcesses></member>"
    )


def _iso(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).isoformat().replace("+00:00", "Z")
