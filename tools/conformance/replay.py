"""Send a recording's requests to an engine, in order, and compare."""

import asyncio
import json
import math
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2
from websockets.asyncio.client import connect

from comfyfleet.engine.registry import Registry
from tools.conformance.forms import KNOWN_CONTENT, as_sent, build_form
from tools.conformance.hearing import (
    WITHIN_S,
    Ear,
    by_prompt,
    is_chance,
    kept_messages,
    noted_binary,
    prompt_of,
    without_order,
)
from tools.conformance.normal import Side, same_files
from tools.conformance.standins import Pace
from tools.conformance.unsupported import REQUESTS

SETTLE_S = 0.15
ASK_EVERY_S = 0.02
ASKED_S = WITHIN_S  # only what differs waits so long
# Files that leave messages out and do not say so.
CUT_SILENTLY = {"m1_jobs_cancel": {"progress_state": 2.0}}
NODE_CLASS = "node class "
ABOUT_SKIPPED = "about a prompt that was not sent"


@dataclass
class Findings:
    differences: list[str] = field(default_factory=list)
    skipped: dict[str, str] = field(default_factory=dict)
    requests_compared: int = 0
    messages_compared: int = 0


@dataclass(frozen=True)
class Place:
    """Where a recording is replayed, and what both servers have named in earlier recordings."""

    url: str
    root: Path
    registry: Registry
    pace: Pace
    recorded: Side
    own: Side


class Replay:
    def __init__(self, name: str, path: Path, place: Place) -> None:
        self._name = name
        self._lines = path.read_text().splitlines()
        self._events = [json.loads(line) for line in self._lines]
        self._last_mention: dict[str, int] = {}
        self._limits = kept_messages(self._events[0].get("text", "")) | CUT_SILENTLY.get(name, {})
        self._url = place.url
        self._root = place.root
        self._registry = place.registry
        self._pace = place.pace
        self._recorded = place.recorded
        self._own = place.own
        self._ears: dict[str, Ear] = {}
        self._expected: dict[str, list[dict[str, Any]]] = {}
        self._skipped_ids: set[str] = set()
        self._crowded_ids: set[str] = set()  # prompts with several outputs: their order is not fixed
        self._index = 0
        self._files: dict[str, str] = {}
        self._bytes_of = dict(KNOWN_CONTENT)  # by the digest of what the real server had
        self.findings = Findings()

    async def run(self) -> Findings:
        async with httpx2.AsyncClient(base_url=self._url, timeout=WITHIN_S * 4) as http:
            try:
                await self._open_silent_ones()
                for place, event in enumerate(self._events):
                    await self._step(http, place, event)
                self._pace.open()
                await self._catch_up()
                await asyncio.sleep(SETTLE_S)
            finally:
                for client in list(self._ears):
                    await self._close(client)
        self._compare_messages()
        return self.findings

    async def _step(self, http: httpx2.AsyncClient, place: int, event: dict[str, Any]) -> None:
        kind = event["kind"]
        if kind in ("ws_text", "ws_binary"):
            self._expect(event)
            return
        if kind == "about":
            return
        if kind == "note":
            self._act_on(event["text"])
            return
        self._set_pace(place)
        if kind != "ws_closed" or event.get("code") is not None or self._more_to_come(place):
            await self._catch_up()
        if kind == "ws_open":
            await self._wait_if_idle(http, place)
            await self._open(event)
        elif kind == "ws_send":
            await self._send(event)
        elif kind == "ws_closed":
            await self._catch_up()
            await self._close(event["client"])
        elif kind == "http":
            await self._exchange(http, event)

    def _more_to_come(self, place: int) -> bool:
        return any(event["kind"] == "http" for event in self._events[place:])

    def _act_on(self, note: str) -> None:
        if note.startswith("the output file was deleted"):
            (self._root / "output" / "b1_00001_.png").unlink()

    def _set_pace(self, place: int) -> None:
        """Let the samplers come as far as the recording's were before what is done next."""
        ours_by_name = {name: spoken for spoken, name in self._own.names.items()}
        for spoken, name in self._recorded.names.items():
            if name in ours_by_name:
                self._pace.allow(ours_by_name[name], self._steps_before(place, spoken))

    def _steps_before(self, place: int, prompt_id: str) -> float:
        before = [message for message in self._messages(0, place) if prompt_of(message) == prompt_id]
        if any(message["type"] in ("executed", "execution_success") for message in before):
            return math.inf
        if self._is_read_as_done(place, prompt_id) or not self._is_followed(place, prompt_id):
            return math.inf
        return max((message["data"]["value"] for message in before if message["type"] == "progress"), default=0)

    def _messages(self, start: int, end: int | None) -> Iterator[dict[str, Any]]:
        return (event["message"] for event in self._events[start:end] if event["kind"] == "ws_text")

    def _is_read_as_done(self, place: int, prompt_id: str) -> bool:
        event = self._events[place]
        told = json.dumps(event.get("response", {}).get("json"))
        return event["kind"] == "http" and prompt_id in event["request"]["path"] and "execution_success" in told

    def _is_followed(self, place: int, prompt_id: str) -> bool:
        """Whether its end is told later; nobody may have listened."""
        if prompt_id not in self._last_mention:
            told = (number for number, line in enumerate(self._lines) if prompt_id in line)
            self._last_mention[prompt_id] = max(told, default=-1)
        return self._last_mention[prompt_id] >= place

    # What was heard

    def _expect(self, event: dict[str, Any]) -> None:
        message = event["message"] if event["kind"] == "ws_text" else noted_binary(event["frame"])
        if prompt_of(message) not in self._skipped_ids:
            self._expected.setdefault(event["client"], []).append(message)

    async def _catch_up(self) -> None:
        """Wait until ours have heard as much as the recorded ones had."""
        for client, expected in self._expected.items():
            if client in self._ears:
                await self._wait_for(client, len(self._telling_of(expected)))

    async def _wait_for(self, client: str, count: int) -> None:
        await self._ears[client].until(lambda heard: len(self._telling_of(heard)) >= count)

    def _telling_of(self, messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """What is compared in order: of prompts that were not skipped, and as many as the file kept."""
        kept, counts = [], Counter[tuple[str, str]]()
        for message in messages:
            kind, prompt_id = message["type"], prompt_of(message) or ""
            if kind in ("status", "logs") or (kind == "executing" and "prompt_id" not in message["data"]):
                continue
            if "progress_steps" in self._limits and is_chance(message):
                continue
            counts[kind, prompt_id] += 1
            if counts[kind, prompt_id] <= self._limits.get(kind, math.inf):
                kept.append(message)
        return kept

    def _compare_messages(self) -> None:
        for client in self._expected:
            expected = self._telling_of(self._expected[client])
            heard = self._telling_of(self._heard_by.get(client, []))
            self._compare_by_prompt(client, expected, heard)
            self._compare_status(client)

    def _compare_by_prompt(self, client: str, expected: list[dict[str, Any]], heard: list[dict[str, Any]]) -> None:
        left, right = by_prompt(expected, self._recorded), by_prompt(heard, self._own)
        for name in left.keys() | right.keys():
            was, now = left.get(name, []), right.get(name, [])
            if name in self._crowded_ids:
                was, now = without_order(was), without_order(now)
            self.findings.messages_compared += len(was)
            for place in range(max(len(was), len(now))):
                before = was[place] if place < len(was) else None
                after = now[place] if place < len(now) else None
                if before != after:
                    self._differ(f"{client} message {place} of {name}", before, after)
                    break

    def _compare_status(self, client: str) -> None:
        """How often the queue was spoken of; its length at that moment is a race between two threads."""
        if self._skipped_ids:
            return
        was = sum(message["type"] == "status" for message in self._expected[client])
        now = sum(message["type"] == "status" for message in self._heard_by.get(client, []))
        if was != now:
            self._differ(f"{client} count of status", was, now)

    # What is done

    async def _open(self, event: dict[str, Any]) -> None:
        url = self._url.replace("http://", "ws://") + event["path"]
        ear = Ear(await connect(url, max_size=None, ping_interval=None))
        ear.task = asyncio.create_task(ear.listen())
        self._ears[event["client"]] = ear
        self._expected.setdefault(event["client"], [])
        await ear.until(bool)

    async def _wait_if_idle(self, http: httpx2.AsyncClient, place: int) -> None:
        """The one who comes back may come to a server that has finished meanwhile."""
        first: dict[str, Any] = next(self._messages(place, None), {"data": {}})
        if first["data"].get("status", {}).get("exec_info") == {"queue_remaining": 0}:
            self._pace.open()
            until_s = time.monotonic() + ASKED_S
            while time.monotonic() < until_s:
                if not (await http.get("/prompt")).json()["exec_info"]["queue_remaining"]:
                    break
                await asyncio.sleep(ASK_EVERY_S)
            self._pace.shut()

    async def _open_silent_ones(self) -> None:
        """Sockets that were open before the file begins."""
        opened = {event["client"] for event in self._events if event["kind"] == "ws_open"}
        heard = {event["client"] for event in self._events if event["kind"] == "ws_text"}
        bodies = (event["request"].get("json") for event in self._events if event["kind"] == "http")
        client_ids = [body["client_id"] for body in bodies if isinstance(body, dict) and "client_id" in body]
        for client in heard - opened:
            await self._open({"client": client, "path": f"/ws?clientId={client_ids[0]}"})
            self._ears[client].heard.clear()

    async def _send(self, event: dict[str, Any]) -> None:
        said = event["message"]
        await self._ears[event["client"]].connection.send(said if isinstance(said, str) else json.dumps(said))
        await asyncio.sleep(0.02)

    async def _close(self, client: str) -> None:
        ear = self._ears.pop(client, None)
        if ear is None:
            return
        await ear.connection.close()
        if ear.task is not None:
            await ear.task
        self._heard_by[client] = ear.heard

    @property
    def _heard_by(self) -> dict[str, list[dict[str, Any]]]:
        self.__dict__.setdefault("_heard", {})
        heard: dict[str, list[dict[str, Any]]] = self.__dict__["_heard"]
        return heard

    async def _exchange(self, http: httpx2.AsyncClient, event: dict[str, Any]) -> None:
        request, recorded = event["request"], event["response"]
        key = f"{self._name} #{self._index} {request['method']} {request['path']}"
        self._index += 1
        reason = self._reason_to_skip(key, request, recorded)
        if reason is not None:
            self.findings.skipped[key] = reason
            return
        answer = await self._ask(http, as_sent(request, recorded))
        if recorded.get("sha256") and answer.status_code == 200:
            self._bytes_of.setdefault(recorded["sha256"], answer.content)
        if request["path"].endswith("/prompt") and request["method"] == "POST":
            self._learn(request, recorded, answer)
        found = self._compare(recorded, answer)
        if found is not None and request["method"] in ("GET", "HEAD"):
            answer, found = await self._ask_until_same(http, request, recorded)
        self.findings.requests_compared += 1
        if found is not None:
            self._differ(key, *found)

    async def _ask_until_same(
        self, http: httpx2.AsyncClient, request: dict[str, Any], recorded: dict[str, Any]
    ) -> tuple[httpx2.Response, tuple[Any, Any] | None]:
        """Reading may come a moment too early: history is written after the last word about success."""
        until_s = time.monotonic() + ASKED_S
        while True:
            answer = await self._ask(http, request)
            found = self._compare(recorded, answer)
            if found is None or time.monotonic() >= until_s:
                return answer, found
            await asyncio.sleep(ASK_EVERY_S)

    def _reason_to_skip(self, key: str, request: dict[str, Any], recorded: dict[str, Any]) -> str | None:
        if key in REQUESTS:
            told = recorded.get("json")
            if request["method"] == "POST" and isinstance(told, dict) and "prompt_id" in told:
                self._skipped_ids.add(told["prompt_id"])
            return REQUESTS[key]
        body = request.get("json")
        graph = body.get("prompt") if isinstance(body, dict) else None
        refused = recorded.get("status") == 400 and "missing_node_type" in json.dumps(recorded)
        if isinstance(graph, dict) and not refused:
            for node in graph.values():
                class_type = node.get("class_type") if isinstance(node, dict) else None
                if class_type is not None and class_type not in self._registry:
                    self._skipped_ids.add(str((recorded.get("json") or {}).get("prompt_id")))
                    return f"{NODE_CLASS}{class_type}"
        if any(skipped in request["path"] for skipped in self._skipped_ids):
            return ABOUT_SKIPPED
        return None

    async def _ask(self, http: httpx2.AsyncClient, request: dict[str, Any]) -> httpx2.Response:
        path = self._own_words(request["path"])
        headers = dict(request.get("headers") or {})
        if "multipart" in request:
            content, content_type = build_form(request["multipart"], self._bytes_of)
            return await http.post(path, content=content, headers={"content-type": content_type})
        if "json" in request:
            content = self._own_words(json.dumps(request["json"])).encode()
            headers.setdefault("content-type", "application/json")
            return await http.request(request["method"], path, content=content, headers=headers)
        raw = request.get("raw_body")
        return await http.request(request["method"], path, content=raw.encode() if raw else None, headers=headers)

    def _own_words(self, text: str) -> str:
        ours_by_name = {name: spoken for spoken, name in self._own.names.items()}
        for spoken, name in self._recorded.names.items():
            text = text.replace(spoken, ours_by_name.get(name, spoken))
        for recorded, ours in self._files.items():
            text = text.replace(recorded, ours)
        return text

    def _learn(self, request: dict[str, Any], recorded: dict[str, Any], answer: httpx2.Response) -> None:
        if recorded["status"] != 200 or answer.status_code != 200:
            return
        was, now = recorded["json"], answer.json()
        if "prompt_id" not in self._recorded.names:
            name = f"(prompt {len(self._recorded.names)})"
            self._recorded.names.setdefault(was["prompt_id"], name)
            self._own.names.setdefault(now["prompt_id"], self._recorded.names[was["prompt_id"]])
        self._recorded.learn_number(was["number"], self._recorded.names[was["prompt_id"]])
        self._own.learn_number(now["number"], self._recorded.names[was["prompt_id"]])
        body = request.get("json") or json.loads(request["raw_body"])
        if len(_outputs_of(body, self._registry)) > 1:
            self._crowded_ids.add(self._recorded.names[was["prompt_id"]])

    def _compare(self, recorded: dict[str, Any], answer: httpx2.Response) -> tuple[Any, Any] | None:
        was: dict[str, Any] = {"status": recorded["status"], "content_type": recorded.get("content_type")}
        now: dict[str, Any] = {"status": answer.status_code, "content_type": answer.headers.get("content-type")}
        for name in ("Content-Disposition", "Accept-Ranges", "Allow"):
            if name in (recorded.get("headers") or {}):
                was[name], now[name] = recorded["headers"][name], _header(answer, name)
        if "json" in recorded and "left out" not in str(recorded["json"])[:200]:
            ours = answer.json() if "json" in (now["content_type"] or "") else answer.text
            self._files |= dict(same_files(self._recorded.renamed(recorded["json"]), self._own.renamed(ours)))
            was["json"], now["json"] = recorded["json"], ours
        if "text" in recorded and "left out" not in recorded["text"]:
            was["text"], now["text"] = recorded["text"], answer.text
        left, right = self._recorded.normal(was), self._own.normal(now)
        return None if left == right else (left, right)

    def _differ(self, where: str, was: Any, now: Any) -> None:
        self.findings.differences.append(f"{where}\n    was: {_brief(was, now)}\n    now: {_brief(now, was)}")


def _header(answer: httpx2.Response, name: str) -> str | None:
    return dict(answer.headers).get(name.lower())


def _brief(value: Any, other: Any) -> str:
    """The text from where it begins to differ."""
    text, against = json.dumps(value, sort_keys=True), json.dumps(other, sort_keys=True)
    same = next((place for place, (a, b) in enumerate(zip(text, against, strict=False)) if a != b), 0)
    start = max(0, same - 120)
    return ("…" if start else "") + text[start : start + 500]


def _outputs_of(body: dict[str, Any], registry: Registry) -> list[str]:
    targets = body.get("partial_execution_targets")
    return [
        node_id
        for node_id, node in body["prompt"].items()
        if node["class_type"] in registry
        and registry[node["class_type"]].output_node
        and (targets is None or node_id in targets)
    ]
