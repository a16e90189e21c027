"""Workers without a GPU: they speak the protocol as an agent does, and write down all that they saw.

`python -m tests.chaos.simulated_worker`, with an order in one line on standard input; when that closes, they are gone.
"""

import asyncio
import json
import os
import random
import secrets
import sys
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

from tests.chaos.conduct import Conduct, conduct_of
from tests.chaos.wire import Answer, Line, NoAnswer

WAIT_S = 2.0
PROVES_A_LEASE, HANGS_UP, UPLOADS = 0.7, 0.01, 0.05
# A PNG of one pixel.
PICTURE = bytes.fromhex(
    "89504e470d0a1a0a0000000d4948445200000001000000010802000000907753de"
    "0000000c49444154789c63e84873010002ac013330cd12850000000049454e44ae426082"
)


class TakenOver(Exception):
    """A newer process has this name."""


@dataclass(frozen=True, slots=True)
class Lease:
    job: str
    token: str
    epoch: int
    number: int

    @property
    def proof(self) -> dict[str, str]:
        return {"dispatch_id": self.job, "lease_token": self.token}


@dataclass(frozen=True)
class Pen:
    """Appends lines to a file: each is there whole, or not at all, whenever the process dies."""

    path: Path

    def write(self, **line: Any) -> None:
        descriptor = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        os.write(descriptor, json.dumps(line).encode() + b"\n")
        os.close(descriptor)

    def read(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.path.read_text().splitlines()] if self.path.exists() else []


@dataclass
class SimulatedWorker:
    name: str
    secret: str
    seed: str
    line: Line
    records: Pen
    journal: Pen
    chance: random.Random
    delivers: bool = False
    token: str = ""
    beat_every_s: float = 1.0

    async def live(self) -> None:
        try:
            for lease in await self.join():
                self.note("resumed", lease)
                await self.run(lease)
            while True:
                lease = await self.poll()
                if lease is not None:
                    self.note("began", lease)
                    await self.run(lease)
        except TakenOver:
            self.records.write(event="superseded", worker=self.name)

    # ── what it says ──

    async def join(self) -> list[Lease]:
        """Under its old name, with some of what its journal proves; what it keeps to itself goes to others."""
        held = self.read_journal()
        proven = [lease for lease in held.values() if self.chance.random() < PROVES_A_LEASE]
        body = {
            "worker_id": self.name,
            "fleet_slug": "chaos",
            "stage": "production",
            "leases": [lease.proof for lease in proven],
        }
        last, proposed = self.read_tokens()
        self.journal.write(proposed=proposed)
        headers = {"X-Fleet-Secret": self.secret, "X-Next-Token": proposed}
        if last is not None:
            headers["Authorization"] = f"Bearer {last}"
        answer = await self.line.insist("register", headers, body)
        assert answer.status == 200, answer
        self.token = answer.body["token"]
        self.journal.write(own_token=self.token)
        self.beat_every_s = answer.body["heartbeat_interval_seconds"]
        resumed = []
        for rebound in answer.body["leases"]:
            old = held[rebound["dispatch_id"]]
            resumed.append(Lease(old.job, rebound["lease_token"], old.epoch, old.number))
            self.hold(resumed[-1])
        return resumed

    async def poll(self) -> Lease | None:
        body = {
            "wait_seconds": WAIT_S,
            "poll_id": str(uuid4()),
            "uploading": int(self.chance.random() < UPLOADS),
        }
        if self.chance.random() < HANGS_UP:
            await self.hang_up("poll", body)
        job = (await self.say("poll", body, wait_s=WAIT_S)).body.get("job")
        if job is None:
            return None
        lease = Lease(job["dispatch_id"], job["lease_token"], job["epoch"], _number_of(job))
        self.hold(lease)
        return lease

    async def run(self, lease: Lease) -> None:
        """As the seed has it for this job, under heartbeats: the first at once, for it confirms the lease."""
        conduct = conduct_of(self.seed, lease.number, lease.epoch)
        left_s = conduct.run_s
        while left_s > 0:
            if not await self.beat(lease):
                return
            nap_s = min(left_s, self.beat_every_s)
            await asyncio.sleep(nap_s)
            left_s -= nap_s
        await self.bring_to_an_end(lease, conduct)

    async def beat(self, lease: Lease) -> bool:
        """False: the lease is lost, or nobody wants the job any more."""
        answer = await self.say("heartbeat", {"leases": [lease.proof]})
        if answer.status != 200 or answer.body["lost"]:
            self.note("lost", lease)
            self.let_go(lease)
            return False
        if answer.body["leases"][0]["cancel_requested"]:
            await self.end("fail", lease, {"error_class": "cancelled", "error": "asked to stop"})
            return False
        return True

    async def bring_to_an_end(self, lease: Lease, conduct: Conduct) -> None:
        said: dict[str, dict[str, Any]] = {
            "complete": {"provider_job_id": f"prompt-{lease.number}-{lease.epoch}"},
            "fail": {"error_class": conduct.failure, "error": "it broke"},
            "requeue": {"reason": "a Spot notice"},
        }
        if conduct.end == "forget":
            self.note("forgot", lease)
            return
        body = said[conduct.end]
        if self.delivers and conduct.end == "complete":
            outputs = await self.deliver(lease)
            if outputs is None:
                return
            body["outputs"] = outputs
        if conduct.loses_the_reply:
            await self.hang_up(conduct.end, {**lease.proof, **body})
        await self.end(conduct.end, lease, body)
        if conduct.says_it_twice:
            await self.end(conduct.end, lease, body)

    async def deliver(self, lease: Lease) -> list[dict[str, Any]] | None:
        """A picture into the store. None: the lease is lost."""
        wanted = {"name": "made.png", "mime_type": "image/png", "size": len(PICTURE)}
        answer = await self.say("outputs", {**lease.proof, "outputs": [wanted]})
        if answer.status != 200:
            self.note("lost", lease)
            self.let_go(lease)
            return None
        [place] = answer.body["outputs"]
        await self.line.put(place["output_url"], place["output_headers"], PICTURE)
        return [{**wanted, "path": place["path"]}]

    async def end(self, verb: str, lease: Lease, body: dict[str, Any]) -> None:
        answer = await self.say(verb, {**lease.proof, **body})
        self.note(verb, lease, status=answer.status, code=answer.code, **_outcome(answer))
        self.let_go(lease)

    async def hang_up(self, verb: str, body: dict[str, Any]) -> None:
        """Says it, and is gone before the reply: perhaps it was heard."""
        try:
            await self.line.ask(
                verb, self.headers, {"worker_id": self.name, **body}, within_s=self.chance.uniform(0.0, 0.03)
            )
        except NoAnswer:
            self.line.lost_replies += 1

    async def say(self, verb: str, body: dict[str, Any], *, wait_s: float = 0.0) -> Answer:
        answer = await self.line.insist(verb, self.headers, {"worker_id": self.name, **body}, wait_s=wait_s)
        if answer.code == "superseded":
            raise TakenOver
        if answer.status != 200 and answer.code != "lease_lost":
            self.records.write(event="unexpected", worker=self.name, verb=verb, status=answer.status, code=answer.code)
        return answer

    @property
    def headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.token}"}

    # ── what it writes down ──

    def note(self, event: str, lease: Lease, **more: Any) -> None:
        self.records.write(event=event, worker=self.name, job=lease.job, epoch=lease.epoch, **more)

    def hold(self, lease: Lease) -> None:
        self.journal.write(held=lease.job, token=lease.token, epoch=lease.epoch, number=lease.number)

    def let_go(self, lease: Lease) -> None:
        self.journal.write(ended=lease.job)

    def read_journal(self) -> dict[str, Lease]:
        held: dict[str, Lease] = {}
        for line in self.journal.read():
            if "held" in line:
                held[line["held"]] = Lease(line["held"], line["token"], line["epoch"], line["number"])
            elif "ended" in line:
                held.pop(line["ended"], None)
        return held

    def read_tokens(self) -> tuple[str | None, str]:
        """Of the last life, and for the next one: the same until a registration is answered."""
        last, proposed = None, None
        for line in self.journal.read():
            if "own_token" in line:
                last, proposed = line["own_token"], None
            proposed = line.get("proposed", proposed)
        return last, proposed or secrets.token_urlsafe(48)


def _outcome(answer: Answer) -> dict[str, Any]:
    return {"became": answer.body["status"], "replayed": answer.body["replayed"]} if answer.status == 200 else {}


def _number_of(job: dict[str, Any]) -> int:
    """A run's job has none of its own: its id will do, which ends in chance."""
    number: int | None = job["input_payload"]["properties"].get("number")
    return UUID(job["dispatch_id"]).int % 10**9 if number is None else number


def hire(order: dict[str, Any]) -> list[SimulatedWorker]:
    folder, ports = Path(order["folder"]), order["ports"]
    return [
        SimulatedWorker(
            name=name,
            secret=order["secret"],
            seed=order["seed"],
            line=Line(ports, at=index % len(ports)),
            records=Pen(folder / f"records-{name}.jsonl"),
            journal=Pen(folder / f"journal-{name}.jsonl"),
            chance=random.Random(f"{order['seed']}/{name}/{order['life']}"),
            delivers=order.get("delivers", False),
        )
        for index, name in enumerate(order["names"])
    ]


async def work(workers: list[SimulatedWorker]) -> None:
    await asyncio.gather(*(worker.live() for worker in workers))


def leave_with_the_supervisor() -> None:
    sys.stdin.read()
    os._exit(0)


if __name__ == "__main__":
    hired = hire(json.loads(sys.stdin.readline()))
    threading.Thread(target=leave_with_the_supervisor, daemon=True).start()
    asyncio.run(work(hired))
