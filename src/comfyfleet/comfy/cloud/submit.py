"""Handing a prompt to Comfy Cloud, once. A second copy costs money: after a lost answer the job is looked for first.

The cloud makes job ids itself. Ours goes along as the id of the workflow, by which its job list can be asked.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from comfyfleet.comfy import answers
from comfyfleet.comfy.cloud.client import CloudClient
from comfyfleet.comfy.cloud.clock import Clock
from comfyfleet.comfy.cloud.errors import CloudTrouble, SubmissionUnknown
from comfyfleet.comfy.cloud.jobs import find_by_mark
from comfyfleet.comfy.cloud.patience import Patience
from comfyfleet.comfy.errors import AnswerTooLarge, ServerTimedOut, ServerUnreachable, UnexpectedAnswer
from comfyfleet.comfy.model import Prompt, Submitted
from comfyfleet.kernel.backoff import backoff_s
from comfyfleet.kernel.errors import Unavailable

ROUTE = "/api/prompt"
POSTS_MAX = 2
# After one of these the prompt may be queued or not.
AMBIGUOUS = (ServerUnreachable, ServerTimedOut, CloudTrouble, UnexpectedAnswer, AnswerTooLarge)


@dataclass(frozen=True, slots=True)
class Submission:
    client: CloudClient
    clock: Clock
    patience: Patience
    look_for_s: float  # a request that timed out may still be carried out: how long it is looked for

    async def submit(self, prompt: Prompt) -> Submitted:
        posts = 0
        while True:
            posts += 1
            try:
                return await self.patience.ask(lambda: self._post(prompt))
            except AMBIGUOUS as error:
                if isinstance(error, ServerUnreachable) and not error.sent:
                    raise
                if (job_id := await self._look_for(prompt.prompt_id)) is not None:
                    return Submitted(job_id, number=0)
                if posts == POSTS_MAX:
                    raise

    async def _post(self, prompt: Prompt) -> Submitted:
        answer = await self.client.ask("POST", ROUTE, body=_body(prompt), accept=(400, 413))
        if answer.status != 200:
            raise answers.read_refusal(answer)
        return answers.read_submitted(answer)

    async def _look_for(self, mark: str) -> str | None:
        """None only when the cloud has said to the end that it has no such job."""
        until, look = self.clock.monotonic() + self.look_for_s, 0
        while True:
            problem: str | None = None
            try:
                if (job_id := await find_by_mark(self.client, mark)) is not None:
                    return job_id
            except Unavailable as error:
                problem = error.message
            look += 1
            wait_s = backoff_s(look, chance=1.0, base_s=1.0, ceiling_s=8.0)
            if self.clock.monotonic() + wait_s > until:
                break
            await self.clock.sleep(wait_s)
        if problem is not None:
            raise SubmissionUnknown(prompt_id=mark, problem=problem)
        return None


def _body(prompt: Prompt) -> Mapping[str, Any]:
    body: dict[str, Any] = {"prompt": prompt.graph, "extra_data": _marked(prompt)}
    return body if prompt.client_id is None else {**body, "client_id": prompt.client_id}


def _marked(prompt: Prompt) -> Mapping[str, Any]:
    picture = prompt.extra_data.get("extra_pnginfo")
    picture = picture if isinstance(picture, Mapping) else {}
    workflow = picture.get("workflow")
    workflow = workflow if isinstance(workflow, Mapping) else {}
    marked = {**picture, "workflow": {**workflow, "id": prompt.prompt_id}}
    return {**prompt.extra_data, "extra_pnginfo": marked}
