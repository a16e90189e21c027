"""The worker that the project began with: one job after the other, and a look every two seconds."""

import time
from datetime import UTC, datetime
from secrets import token_hex
from typing import Any, Self

import httpx2
import msgspec

from comfyfleet.worker.prepare import Mark, Work, prepare_graph, read_payload

POLL_S = 2.0
WORKER = "seed-1"


class SeedLoop:
    """The same calls over the same link as the worker makes, each waited for."""

    def __init__(self, control_url: str, server_url: str, fleet_secret: str, *, fleet: str, stage: str) -> None:
        self._control = httpx2.Client(base_url=control_url, timeout=60)
        self._server = httpx2.Client(base_url=server_url, timeout=60)
        said: dict[str, Any] = {"worker_id": WORKER, "fleet_slug": fleet, "stage": stage, "providers": ["self_hosted"]}
        said |= {"capabilities": {}, "max_concurrency": 1}
        answer = self._control.post("/api/worker/register", json=said, headers={"X-Fleet-Secret": fleet_secret})
        answer.raise_for_status()
        self._control.headers["Authorization"] = f"Bearer {answer.json()['token']}"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self._say("deregister")
        self._control.close()
        self._server.close()

    def turn(self) -> None:
        job = self._say("poll", providers=["self_hosted"], current_load=0, max_concurrency=1, wait_seconds=0)["job"]
        if job is None:
            time.sleep(POLL_S)
            return
        lease = {name: job[name] for name in ("dispatch_id", "lease_token")}
        self._say("heartbeat", current_load=1, leases=[lease])
        made = self._run(read_payload(msgspec.json.encode(job["input_payload"])))
        self._say("complete", **lease, outputs=[self._deliver(lease, made)])

    def _run(self, work: Work) -> bytes:
        mark = Mark(token_hex(8), datetime.now(UTC).date())
        names = {}
        for asset in work.assets:
            content = self._control.get(asset.url).raise_for_status().content
            files = {"image": ("input.png", content, asset.media_type)}
            placed = self._server.post("/upload/image", data={"subfolder": mark.folder}, files=files)
            names[asset.name] = f"{mark.folder}/{placed.raise_for_status().json()['name']}"
        posted = self._server.post("/prompt", json={"prompt": prepare_graph(work, names, mark)})
        entry = self._wait(posted.raise_for_status().json()["prompt_id"])
        [file] = [each for node in entry["outputs"].values() for each in node["images"]]
        return self._server.get("/view", params=file).raise_for_status().content

    def _wait(self, prompt_id: str) -> dict[str, Any]:
        while True:
            found: dict[str, Any] = self._server.get(f"/history/{prompt_id}").raise_for_status().json()
            if prompt_id in found:
                entry: dict[str, Any] = found[prompt_id]
                return entry
            time.sleep(POLL_S)

    def _deliver(self, lease: dict[str, str], made: bytes) -> dict[str, Any]:
        output = {"name": "made.png", "mime_type": "image/png", "size": len(made)}
        [place] = self._say("outputs", **lease, outputs=[output])["outputs"]
        put = self._control.put(place["output_url"], content=made, headers=place["output_headers"])
        put.raise_for_status()
        return {**output, "path": place["path"]}

    def _say(self, verb: str, **said: Any) -> Any:
        answer = self._control.post(f"/api/worker/{verb}", json={"worker_id": WORKER, **said})
        return answer.raise_for_status().json()
