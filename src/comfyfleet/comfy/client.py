"""The HTTP routes of a ComfyUI, typed. One client for one server; it neither retries nor waits nor decides."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Self
from urllib.parse import quote

import httpx2
import msgspec

from comfyfleet.comfy import answers
from comfyfleet.comfy.address import Address, parse_address
from comfyfleet.comfy.errors import InvalidGraph
from comfyfleet.comfy.exchange import Answer, Exchange
from comfyfleet.comfy.fetch import Tell, fetch_output
from comfyfleet.comfy.limits import DEFAULT_LIMITS, Limits
from comfyfleet.comfy.model import (
    FetchedFile,
    Folder,
    HistoryEntry,
    JobState,
    OutputFile,
    Prompt,
    QueueState,
    ServerFacts,
    Submitted,
    UploadedFile,
    new_prompt_id,
)
from comfyfleet.comfy.send_file import send_file
from comfyfleet.kernel.secret import Secret


class ComfyClient:
    def __init__(
        self,
        server: str | Address,
        *,
        bearer: Secret | str | None = None,
        headers: Mapping[str, str] | None = None,
        limits: Limits = DEFAULT_LIMITS,
        transport: httpx2.AsyncBaseTransport | None = None,
    ) -> None:
        self.address = server if isinstance(server, Address) else parse_address(server, bearer=bearer, headers=headers)
        self.limits = limits
        # Without a client_id an old server leaves the outputs of a cached prompt out of its history.
        self.client_id = new_prompt_id()
        self._exchange = Exchange(self.address, transport=transport)
        self._has_jobs: bool | None = None
        self._has_job_cancel: bool | None = None

    def __repr__(self) -> str:
        return f"ComfyClient({self.address.name!r})"

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.close()

    async def close(self) -> None:
        await self._exchange.close()

    async def submit(self, prompt: Prompt, *, targets: Sequence[str] | None = None) -> Submitted:
        """`targets`: only these output nodes. An error other than a refusal leaves open whether it was queued."""
        body: dict[str, Any] = {
            "prompt": prompt.graph,
            "prompt_id": prompt.prompt_id,
            "client_id": prompt.client_id or self.client_id,
            "extra_data": prompt.extra_data,
        }
        if prompt.front:
            body["front"] = True
        if targets is not None:
            body["partial_execution_targets"] = list(targets)
        try:
            answer = await self._exchange.ask(
                "POST", "/prompt", body=body, limit_s=self.limits.submit_s, limit_bytes=self.limits.refusal_bytes
            )
        except (TypeError, ValueError, RecursionError, msgspec.EncodeError) as error:
            raise InvalidGraph(f"The graph cannot be written as JSON: {error}") from None
        if answer.status != 200:
            raise answers.read_refusal(answer)
        return await self._own(answers.read_submitted(answer), prompt, answer)

    async def _own(self, submitted: Submitted, prompt: Prompt, answer: Answer) -> Submitted:
        if submitted.prompt_id == prompt.prompt_id:
            return submitted
        # Before 0.3.45 the server chooses, and a lost answer would mean a lost prompt.
        await self.delete_pending([submitted.prompt_id])
        await self.interrupt(submitted.prompt_id)
        raise answer.unexpected("it does not take our prompt_id; ComfyUI 0.3.45 or newer is needed")

    async def queue(self) -> QueueState:
        return answers.read_queue(await self._look("/queue", limit_bytes=self.limits.queue_bytes))

    async def history(self, prompt_id: str) -> HistoryEntry | None:
        """None: not ended, or not known."""
        route = f"/history/{quote(prompt_id, safe='')}"
        entries = answers.read_history(await self._look(route, limit_bytes=self.limits.history_bytes))
        return next((entry for entry in entries if entry.prompt_id == prompt_id), None)

    async def histories(self, *, newest: int) -> tuple[HistoryEntry, ...]:
        """The last ones, oldest first."""
        params = {"max_items": str(newest)}
        return answers.read_history(await self._look("/history", params=params, limit_bytes=self.limits.history_bytes))

    async def job(self, prompt_id: str) -> JobState | None:
        """From 0.6.0 on; `has_jobs` tells afterwards whether None means "not known" or "no such route"."""
        route = f"/api/jobs/{quote(prompt_id, safe='')}"
        answer = await self._ask("GET", route, limit_bytes=self.limits.history_bytes)
        if answer.status == 404:
            self._has_jobs = answers.is_json_error(answer)  # the route's own 404, not that of a path nobody serves
            return None
        self._has_jobs = True
        return answers.read_job(self._accepted(answer))

    @property
    def has_jobs(self) -> bool | None:
        return self._has_jobs

    async def cancel_job(self, prompt_id: str) -> bool | None:
        """None: the server has no such route (before about 0.33)."""
        if self._has_job_cancel is False:
            return None
        answer = await self._ask("POST", f"/api/jobs/{quote(prompt_id, safe='')}/cancel", body={})
        self._has_job_cancel = answer.status not in (404, 405)
        if not self._has_job_cancel:
            return None
        return answers.read_cancelled(self._accepted(answer))

    async def interrupt(self, prompt_id: str) -> None:
        """Only if that prompt is running. It can get lost: whoever needs certainty looks afterwards."""
        self._accepted(await self._ask("POST", "/interrupt", body={"prompt_id": prompt_id}))

    async def delete_pending(self, prompt_ids: Sequence[str]) -> None:
        self._accepted(await self._ask("POST", "/queue", body={"delete": list(prompt_ids)}))

    async def delete_history(self, prompt_ids: Sequence[str]) -> None:
        self._accepted(await self._ask("POST", "/history", body={"delete": list(prompt_ids)}))

    async def upload(
        self,
        source: Path | bytes,
        *,
        name: str,
        subfolder: str = "",
        folder: Folder = "input",
        overwrite: bool = False,
    ) -> UploadedFile:
        """Any file. Use the name that comes back: another file may have this one."""
        fields = {"subfolder": subfolder, "type": folder, "overwrite": "true" if overwrite else "false"}
        return await send_file(self._exchange, self.limits, source, route="/upload/image", name=name, fields=fields)

    async def upload_mask(
        self, source: Path | bytes, *, name: str, original: UploadedFile, subfolder: str = ""
    ) -> UploadedFile:
        """The mask becomes the transparency of `original`, stored as a new file."""
        return await send_file(
            self._exchange,
            self.limits,
            source,
            route="/upload/mask",
            name=name,
            fields={"subfolder": subfolder, "type": "input"},
            original=original,
        )

    async def fetch(self, output: OutputFile, to: Path, *, tell: Tell | None = None) -> FetchedFile:
        return await fetch_output(self._exchange, self.limits, output, to, tell=tell)

    async def object_info(self, node_class: str | None = None) -> dict[str, Any]:
        route = "/object_info" if node_class is None else f"/object_info/{quote(node_class, safe='')}"
        answer = await self._ask(
            "GET", route, limit_s=self.limits.object_info_s, limit_bytes=self.limits.object_info_bytes
        )
        return self._accepted(answer).decode(dict[str, Any])

    async def system_stats(self) -> ServerFacts:
        return answers.read_stats(await self._look("/system_stats"))

    async def features(self) -> dict[str, Any]:
        """Empty before 0.3.45."""
        answer = await self._ask("GET", "/features")
        return {} if answer.status == 404 else self._accepted(answer).decode(dict[str, Any])

    async def free(self, *, unload_models: bool = True, free_memory: bool = True) -> None:
        """At the server's next idle moment."""
        self._accepted(
            await self._ask("POST", "/free", body={"unload_models": unload_models, "free_memory": free_memory})
        )

    async def subscribe_logs(self, client_id: str) -> bool:
        """From now on the socket of this client hears the lines of its log. False: the server has no such route."""
        body = {"clientId": client_id, "enabled": True}
        return (await self._ask("PATCH", "/internal/logs/subscribe", body=body)).status == 200

    async def probe(self, route: str, *, method: str = "GET") -> int:
        """Only the status: is such a route open?"""
        request = self._exchange.build(method, route)
        async with self._exchange.stream(request, route=route, limit_s=self.limits.look_s) as response:
            return response.status_code

    async def _look(
        self, route: str, *, params: Mapping[str, str] | None = None, limit_bytes: int | None = None
    ) -> Answer:
        return self._accepted(await self._ask("GET", route, params=params, limit_bytes=limit_bytes))

    async def _ask(
        self,
        method: str,
        route: str,
        *,
        limit_s: float | None = None,
        limit_bytes: int | None = None,
        params: Mapping[str, str] | None = None,
        body: Any = None,
    ) -> Answer:
        return await self._exchange.ask(
            method,
            route,
            limit_s=limit_s or self.limits.look_s,
            limit_bytes=limit_bytes or self.limits.words_bytes,
            params=params,
            body=body,
        )

    def _accepted(self, answer: Answer) -> Answer:
        if answer.status != 200:
            raise answer.unexpected()
        return answer
