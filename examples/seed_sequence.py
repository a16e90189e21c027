"""The whole way of a job over HTTP, without the SDK: upload, order, a worker, the result, the ledger, the audit.

    make up                                     # in one terminal
    .venv/bin/python examples/seed_sequence.py  # in another, in the same folder

It makes what it needs (a tenant, a user with tokens, a workflow, an effect, a fleet) under names of its own, plays the
user and the worker, and ends with `comfyfleet audit`. Against another server: `--url`, and an operator's key in the
variable OPERATOR; the audit takes its databases from COMFYFLEET_* as every command does.
"""

import argparse
import os
import secrets
import struct
import subprocess
import sys
import threading
import time
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx2

PRICE, CREDIT = 12, 100
WITHIN_S = 60
GRAPH = {
    "1": {"class_type": "LoadImage", "inputs": {"image": "photo.png"}},
    "2": {"class_type": "ImageInvert", "inputs": {"image": ["1", 0]}},
    "3": {"class_type": "SaveImage", "inputs": {"images": ["2", 0], "filename_prefix": "{{title}}"}},
}
PROPERTIES = [
    {"name": "photo", "type": "image", "node": "1", "input_name": "image", "is_primary_input": True},
    {"name": "title", "type": "text", "placeholder": "title", "default": "negative"},
]


def say(*words: object) -> None:
    print(*words, flush=True)  # noqa: T201  it is what an example does


class Api:
    """JSON in, JSON out, with one credential."""

    def __init__(self, url: str, **headers: str) -> None:
        self._http = httpx2.Client(base_url=url, headers=headers, timeout=WITHIN_S)

    def __call__(self, method: str, path: str, body: Any = None) -> Any:
        answer = self._http.request(method, path, json=body)
        if answer.is_error:
            sys.exit(f"{method} {path}: {answer.status_code} {answer.text}")
        return answer.json() if answer.content else None

    def close(self) -> None:
        self._http.close()


class Store:
    """Signed requests are sent as they stand, and without any credential. A relative URL is the server's own."""

    def __init__(self, url: str) -> None:
        self._http = httpx2.Client(base_url=url, timeout=WITHIN_S)

    def put(self, url: str, headers: dict[str, str], content: bytes) -> None:
        self._http.put(url, headers=headers, content=content).raise_for_status()

    def get(self, url: str) -> bytes:
        return self._http.get(url).raise_for_status().content

    def close(self) -> None:
        self._http.close()


# ── what an operator does once ──────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class Stage:
    effect: str
    user_key: str
    fleet: str
    fleet_secret: str


# The order comes before its worker has registered.
WAITS = {"waits_for_worker": True}


def set_the_stage(url: str, operator: Api, *, credit: int = CREDIT) -> Stage:
    mark = secrets.token_hex(4)
    effect, fleet = f"negative-{mark}", f"images-{mark}"
    operator("POST", "/api/admin/workflows", {"slug": effect, "graph": GRAPH, "properties": PROPERTIES})
    operator("POST", "/api/admin/effects", {"slug": effect, "workflow": effect, "credits_cost": PRICE, **WAITS})
    operator("POST", f"/api/admin/effects/{effect}/publish")
    fleet_id = operator("POST", "/api/admin/fleets", {"slug": fleet, "stage": "demo"})["id"]
    operator("PUT", f"/api/admin/fleets/{fleet_id}/workflows/{effect}", {"is_active": True})
    fleet_secret = operator("POST", "/api/admin/fleet-secrets", {"name": fleet, "fleet": f"{fleet}/demo"})["secret"]
    tenant = operator("POST", "/api/admin/tenants", {"slug": f"studio-{mark}"})["id"]
    invited = operator("POST", f"/api/admin/tenants/{tenant}/users", {"email": f"mira@studio-{mark}.test"})
    payment = {"user_id": invited["user"]["id"], "amount": credit, "provider_transaction_id": f"payment-{mark}"}
    operator("POST", f"/api/admin/tenants/{tenant}/credits", payment)
    return Stage(effect, _accept(url, invited), fleet, fleet_secret)


def clear_the_stage(operator: Api, stage: Stage) -> None:
    """Nothing is left in the gallery that no worker can run."""
    operator("POST", f"/api/admin/effects/{stage.effect}/unpublish")
    operator("DELETE", f"/api/admin/effects/{stage.effect}")
    operator("POST", f"/api/admin/workflows/{stage.effect}/deactivate")


def _accept(url: str, invited: dict[str, Any]) -> str:
    """The invited user opens the link, chooses a password, logs in and makes a key for programs."""
    password = secrets.token_urlsafe(16)
    with httpx2.Client(base_url=url, headers={"Origin": url}, timeout=WITHIN_S) as browser:
        chosen = {"token": invited["link"].partition("#token=")[2], "password": password}
        browser.post("/api/auth/password", json=chosen).raise_for_status()
        login = {"email": invited["user"]["email"], "password": password}
        logged_in = browser.post("/api/auth/login", json=login).raise_for_status()
        # By hand: the cookie is for secure connections, and only browsers take localhost for one.
        cookie = logged_in.headers["Set-Cookie"].partition(";")[0]
        made = browser.post("/api/keys", json={"name": "example"}, headers={"Cookie": cookie}).raise_for_status()
    return str(made.json()["secret"])


# ── what a worker does ──────────────────────────────────────────────────────────────────────


class SimulatedWorker(threading.Thread):
    """The worker protocol, word by word; where ComfyUI would run, `make` does."""

    def __init__(self, url: str, stage: Stage, *, jobs: int = 1) -> None:
        super().__init__(daemon=True)
        self.worker_id, self._stage, self._jobs = f"simulated-{secrets.token_hex(4)}", stage, jobs
        self._url, self._store = url, Store(url)
        self._stopping = threading.Event()

    def run(self) -> None:
        door = Api(self._url, **{"X-Fleet-Secret": self._stage.fleet_secret})
        said = {"worker_id": self.worker_id, "fleet_slug": self._stage.fleet, "stage": "demo"}
        token = door("POST", "/api/worker/register", said)["token"]
        door.close()
        self.tell(f"registered as {self.worker_id}")
        self._api = Api(self._url, Authorization=f"Bearer {token}")
        while self._jobs and not self._stopping.is_set():
            job = self._say("poll", poll_id=str(uuid4()), wait_seconds=2)["job"]
            if job is not None:
                self._work(job)
                self._jobs -= 1
        self._say("deregister")
        self._api.close()
        self._store.close()

    def stop(self) -> None:
        self._stopping.set()
        self.join(WITHIN_S)

    def tell(self, words: str) -> None:
        say(f"worker    {words}")

    def _say(self, verb: str, **said: Any) -> Any:
        return self._api("POST", f"/api/worker/{verb}", {"worker_id": self.worker_id, **said})

    def _work(self, job: dict[str, Any]) -> None:
        lease = {"dispatch_id": job["dispatch_id"], "lease_token": job["lease_token"]}
        self._say("heartbeat", **lease)  # at once: it confirms the lease
        self.tell(f"leased {job['job_id']}, attempt {job['attempt']}")
        made = self.make(self._store.get(job["input_url"]), job["input_payload"], lease)
        self._say("heartbeat", **lease)
        about = {"name": "negative.png", "mime_type": "image/png", "size": len(made)}
        [place] = self._say("outputs", **lease, outputs=[about])["outputs"]
        self._store.put(place["output_url"], place["output_headers"], made)
        ended = self._say("complete", **lease, outputs=[{**about, "path": place["path"]}])
        self.tell(f"delivered {len(made)} bytes: {ended['status']}")

    def make(self, photo: bytes, payload: dict[str, Any], lease: dict[str, str]) -> bytes:
        for step in range(1, 5):
            event = {"kind": "progress", **lease, "data": {"value": step, "max": 4, "node": "2"}}
            self._say("events", events=[event])
        return negative(photo)


# ── a picture, and its negative ─────────────────────────────────────────────────────────────


def picture(width: int = 64, height: int = 48) -> bytes:
    rows = [bytes(value for x in range(width) for value in (4 * x, 5 * y, 128)) for y in range(height)]
    return _png(width, height, rows)


def negative(png: bytes) -> bytes:
    """Of a picture that `picture` made: eight bits, RGB, no filter."""
    width, height = struct.unpack(">II", png[16:24])
    length = struct.unpack(">I", png[33:37])[0]
    raw = zlib.decompress(png[41 : 41 + length])
    line = 1 + 3 * width
    return _png(
        width, height, [bytes(255 - value for value in raw[y * line + 1 : (y + 1) * line]) for y in range(height)]
    )


def _png(width: int, height: int, rows: list[bytes]) -> bytes:
    def chunk(kind: bytes, body: bytes) -> bytes:
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    body = zlib.compress(b"".join(b"\0" + row for row in rows))
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", body) + chunk(b"IEND", b"")


# ── what a user does: the seed's sequence ───────────────────────────────────────────────────


def play(url: str, operator_key: str) -> None:
    operator = Api(url, Authorization=f"Bearer {operator_key}")
    stage = set_the_stage(url, operator)
    user, store = Api(url, Authorization=f"Bearer {stage.user_key}"), Store(url)
    photo = picture()

    announced = user("POST", "/api/videos/uploads", {"name": "photo.png", "mime_type": "image/png", "size": len(photo)})
    [upload] = announced["upload"]["requests"]
    say(f"user      POST /api/videos/uploads   file {announced['file']['id']}")
    store.put(upload["url"], upload["headers"], photo)
    say(f"user      PUT                        {len(photo)} bytes")
    video = user("POST", "/api/videos", {"original_file_id": announced["file"]["id"]})
    say(f"user      POST /api/videos           video {video['id']}, {video['width']}x{video['height']}")
    order = {"effect": stage.effect, "video_id": video["id"], "idempotency_key": str(uuid4())}
    job = user("POST", "/api/ai-jobs", order)
    say(f"user      POST /api/ai-jobs          job {job['id']}, {job['status']}, {job['credits_cost']} tokens")
    if user("POST", "/api/ai-jobs", order)["id"] != job["id"]:
        sys.exit("The same key made a second job.")
    say("user      POST /api/ai-jobs          the same again: the same job")

    worker = SimulatedWorker(url, stage)
    worker.start()
    done = _until_over(user, video["id"])
    worker.join(WITHIN_S)
    say(f"user      GET /api/videos/{{id}}       {done['status']}, processed file {done['processed_file_id']}")
    if store.get(done["processed_file_url"]) != negative(photo):
        sys.exit("The result is not what the worker made.")
    say("user      GET processed_file_url     byte for byte what the worker made")
    _tell_the_ledger(user)
    clear_the_stage(operator, stage)
    operator.close()
    user.close()
    store.close()


def _until_over(user: Api, video_id: str) -> dict[str, Any]:
    until = time.monotonic() + WITHIN_S
    while time.monotonic() < until:
        video: dict[str, Any] = user("GET", f"/api/videos/{video_id}")
        if video["status"] in ("completed", "failed", "expired"):
            return video if video["status"] == "completed" else sys.exit(f"{video['status']}: {video['error']}")
        time.sleep(0.2)
    return sys.exit(f"The video is not done after {WITHIN_S} s.")


def _tell_the_ledger(user: Api) -> None:
    transactions = user("GET", "/api/wallet/transactions")["transactions"]
    for each in reversed(transactions):
        say(f"ledger    {each['type']:<15}{each['amount']:>6}  {each['job_id'] or each['provider_transaction_id']}")
    balance = user("GET", "/api/wallet")["balance"]
    say(f"wallet    {balance} tokens")
    moves = [(each["type"], each["amount"]) for each in reversed(transactions)]
    if moves != [("PAYMENT_CREDIT", CREDIT), ("JOB_RESERVE", -PRICE), ("JOB_CONSUME", 0)] or balance != CREDIT - PRICE:
        sys.exit("The ledger is not what it must be.")


def audit() -> None:
    say("audit     comfyfleet audit")
    if subprocess.run([sys.executable, "-m", "comfyfleet", "audit"], check=False).returncode:
        sys.exit("The audit found a violation.")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--url", default=os.environ.get("COMFYFLEET_URL", "http://localhost:8700"), help="where the server is"
    )
    parser.add_argument("--operator-key-file", type=Path, default=Path(".comfyfleet/operator.key"))
    given = parser.parse_args()
    key = os.environ.get("OPERATOR") or given.operator_key_file.read_text().strip()
    play(given.url, key)
    audit()


if __name__ == "__main__":
    main()
