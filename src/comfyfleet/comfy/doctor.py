"""What is right and wrong with a ComfyUI server, judged from what an examination found. Pure: `examine.py` asks."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from comfyfleet.comfy.graph import ModelFile
from comfyfleet.comfy.model import ServerFacts
from comfyfleet.kernel.durations import seconds_text
from comfyfleet.kernel.hosts import is_loopback

GIB = 1024**3
LATENCY_S_MAX = 0.5
CLOCK_OFF_S_MAX = 30.0
LISTED_MAX = 10


class Verdict(StrEnum):
    FINE = "fine"
    NOTE = "note"  # worth knowing
    WARNING = "warning"  # it works, and something should be changed
    PROBLEM = "problem"  # something will not work


@dataclass(frozen=True, slots=True)
class Finding:
    check: str
    verdict: Verdict
    text: str
    advice: str = ""


@dataclass(frozen=True, slots=True)
class WorkflowNeeds:
    """What one workflow wants that the server does not have. `problems` are other reasons why it would be refused."""

    nodes: int
    missing_classes: tuple[str, ...] = ()
    missing_models: tuple[ModelFile, ...] = ()
    problems: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Examined:
    url: str
    host: str
    facts: ServerFacts
    latency_s: float
    clock_off_s: float | None  # the server's clock before ours; None: it tells no time
    socket_problem: str | None
    sends_credentials: bool
    opens_without_credentials: bool
    open_routes: tuple[str, ...] = ()
    workflow: WorkflowNeeds | None = None


def judge(seen: Examined) -> tuple[Finding, ...]:
    found = [
        *_version(seen.facts.version),
        *_devices(seen.facts),
        *_socket(seen),
        *_time(seen),
        *_reach(seen),
        *_routes(seen),
        *_files(seen.facts),
    ]
    return tuple(found if seen.workflow is None else [*found, *_workflow(seen.workflow)])


def worst(findings: tuple[Finding, ...]) -> Verdict:
    order = list(Verdict)
    return max((finding.verdict for finding in findings), key=order.index, default=Verdict.FINE)


# ── version ─────────────────────────────────────────────────────────────────────────────────

# From which version on, what it is, and what its lack costs here.
FEATURES: tuple[tuple[tuple[int, ...], str], ...] = (
    ((0, 3, 45), "prompt ids of our own choice and progress of all nodes"),
    ((0, 3, 48), "running only chosen outputs"),
    ((0, 3, 57), "interrupting one prompt and no other"),
    ((0, 5, 0), "previews chosen per prompt"),
    ((0, 6, 0), "the state of a job in one request"),
    ((0, 33, 0), "cancelling a job whatever state it is in, in one request"),
)
NEEDED = (0, 3, 45)
TARGETED_INTERRUPT = (0, 3, 57)


def parse_version(told: str | None) -> tuple[int, ...] | None:
    found = re.match(r"v?(\d+)\.(\d+)(?:\.(\d+))?", told or "")
    return tuple(int(part or 0) for part in found.groups()) if found else None


def _version(told: str | None) -> Iterator[Finding]:
    version = parse_version(told)
    if version is None:
        advice = "Only servers of at least 0.3.45 can be used; older ones do not tell what they are."
        yield Finding("version", Verdict.WARNING, f"The server does not tell a version we know ({told!r}).", advice)
        return
    lacking = [what for since, what in FEATURES if version < since]
    text = f"ComfyUI {told}" + (f", without: {'; '.join(lacking)}" if lacking else "")
    if version < NEEDED:
        yield Finding("version", Verdict.PROBLEM, text, "Update ComfyUI to at least 0.3.45, better to 0.33.0 or later.")
    elif version < TARGETED_INTERRUPT:
        advice = "Update ComfyUI: cancelling a running prompt may stop somebody else's."
        yield Finding("version", Verdict.WARNING, text, advice)
    else:
        yield Finding("version", Verdict.NOTE if lacking else Verdict.FINE, text)


# ── machine ─────────────────────────────────────────────────────────────────────────────────


def _devices(facts: ServerFacts) -> Iterator[Finding]:
    if not facts.devices:
        yield Finding("devices", Verdict.WARNING, "The server names no device to compute on.")
    for device in facts.devices:
        free, total = device.vram_free_bytes / GIB, device.vram_total_bytes / GIB
        text = f"{device.name} ({device.type}), {free:.1f} of {total:.1f} GiB free"
        on_cpu = device.type == "cpu"
        yield Finding("devices", Verdict.NOTE if on_cpu else Verdict.FINE, text + (", no GPU" if on_cpu else ""))


def _socket(seen: Examined) -> Iterator[Finding]:
    if seen.socket_problem is None:
        yield Finding("socket", Verdict.FINE, "The WebSocket connects, and the first message arrives.")
        return
    advice = "Let WebSockets (Upgrade, Connection) through whatever stands before it. Without, there is no progress."
    yield Finding("socket", Verdict.PROBLEM, f"The WebSocket does not work: {seen.socket_problem}", advice)


def _time(seen: Examined) -> Iterator[Finding]:
    slow = seen.latency_s > LATENCY_S_MAX
    advice = "It may be busy loading a model; if not, look at the network between." if slow else ""
    text = f"An answer takes {seconds_text(seen.latency_s)}."
    yield Finding("latency", Verdict.WARNING if slow else Verdict.FINE, text, advice)
    if seen.clock_off_s is None:
        return
    off = abs(seen.clock_off_s) > CLOCK_OFF_S_MAX
    way = "ahead of" if seen.clock_off_s > 0 else "behind"
    text = f"Its clock is {seconds_text(seen.clock_off_s)} {way} ours." if off else "Its clock goes as ours."
    advice = "Set it by NTP: times in its history and logs are wrong." if off else ""
    yield Finding("clock", Verdict.WARNING if off else Verdict.FINE, text, advice)


# ── who else can use it ─────────────────────────────────────────────────────────────────────

BEHIND = "Start it with --listen 127.0.0.1, or put a firewall or a proxy that asks for a password before it."
ANYTHING = "run any workflow, read and upload files, stop everyone's prompts and unload models (/free)"


def _reach(seen: Examined) -> Iterator[Finding]:
    near = is_loopback(seen.host)
    listens = listens_on(seen.facts.argv)
    if not seen.opens_without_credentials:
        yield Finding("access", Verdict.FINE, "It asks for credentials.")
    elif not near:
        text = f"Whoever reaches {seen.url} can {ANYTHING}: it asks nobody who he is."
        yield Finding("access", Verdict.WARNING, text, BEHIND)
    elif listens is not None and not all(is_loopback(host) for host in listens.split(",")):
        text = f"It listens on {listens}, not only for this machine: whoever reaches it can {ANYTHING}."
        yield Finding("access", Verdict.WARNING, text, BEHIND)
    else:
        yield Finding("access", Verdict.FINE, "It asks for no credentials, and only this machine reaches it here.")
    if seen.sends_credentials and not near and seen.url.startswith("http://"):
        advice = "Put TLS before it and use https://."
        yield Finding("access", Verdict.WARNING, "Our credentials travel to it readable, over plain http.", advice)
    if any(word.startswith("--enable-cors-header") for word in seen.facts.argv):
        advice = "Start it without --enable-cors-header, or name the one origin that needs it."
        yield Finding("access", Verdict.WARNING, "It lets web pages of other origins use it.", advice)


def listens_on(argv: tuple[str, ...]) -> str | None:
    """None: it was not told, and then it is this machine only."""
    for place, word in enumerate(argv):
        if word.startswith("--listen="):
            return word.partition("=")[2]
        if word == "--listen":
            following = argv[place + 1] if place + 1 < len(argv) else "--"
            return "0.0.0.0,::" if following.startswith("-") else following
    return None


# Asked for by GET only; what they give away, or let do, when they answer.
SENSITIVE_ROUTES: Mapping[str, str] = {
    "/internal/logs": "its log, with everyone's paths and errors",
    "/internal/folder_paths": "where its files are on disk",
    "/internal/files/output": "the names of everyone's results",
    "/history?max_items=1": "everyone's prompts and results",
    "/userdata?dir=workflows": "saved workflows, which can also be changed and deleted",
    "/users": "who its users are",
    "/manager/version": "ComfyUI-Manager, which installs programs",
}


def _routes(seen: Examined) -> Iterator[Finding]:
    if not seen.open_routes:
        yield Finding("routes", Verdict.FINE, "None of the routes that give things away is open without credentials.")
        return
    given = "; ".join(f"{route.partition('?')[0]} ({SENSITIVE_ROUTES[route]})" for route in seen.open_routes)
    near = is_loopback(seen.host)
    advice = "" if near else "Let a proxy before it pass only the routes that are needed. " + BEHIND
    yield Finding("routes", Verdict.NOTE if near else Verdict.WARNING, f"Open to whoever reaches it: {given}.", advice)


def _files(facts: ServerFacts) -> Iterator[Finding]:
    if "--enable-assets" in facts.argv:
        yield Finding("files", Verdict.FINE, "Files can be deleted through /api/assets.")
        return
    text = (
        "ComfyUI has no route that deletes files: a worker's inputs and outputs stay there unless it has their folder."
    )
    advice = (
        "Run the worker on that machine as `comfyfleet worker --comfyui-dir`, and it deletes what its jobs left. "
        "Else clean the input and output folders there, by a timer: nobody can do it from here."
    )
    yield Finding("files", Verdict.NOTE, text, advice)


# ── a workflow ──────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class _Lack:
    text: str
    advice: str
    names: tuple[str, ...] = field(default=())

    def finding(self) -> Finding:
        more = f" and {len(self.names) - LISTED_MAX} more" if len(self.names) > LISTED_MAX else ""
        return Finding(
            "workflow", Verdict.PROBLEM, f"{self.text}: {', '.join(self.names[:LISTED_MAX])}{more}", self.advice
        )


def _workflow(needs: WorkflowNeeds) -> Iterator[Finding]:
    models = tuple(f"{model.name} (node {model.node}, {model.input_name})" for model in needs.missing_models)
    lacks = (
        _Lack("Node classes missing", "Install the custom nodes that bring them, or update.", needs.missing_classes),
        _Lack("Weights missing", "Put the files into its model folders.", models),
        _Lack("It would be refused", "Mend the workflow.", needs.problems),
    )
    found = [lack.finding() for lack in lacks if lack.names]
    yield from found
    if not found:
        text = f"All node classes and weights of its {needs.nodes} nodes are there."
        yield Finding("workflow", Verdict.FINE, text)
