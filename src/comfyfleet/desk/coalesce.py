"""Calls that come at once share one statement. Nobody waits for a timer: while one batch is out, the next gathers."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Generic, TypeVar

from comfyfleet.kernel.errors import FleetError

Asked = TypeVar("Asked")
Answer = TypeVar("Answer")
Work = Callable[[list[Asked]], Awaitable[Sequence[Answer | FleetError]]]

BATCH_MAX = 500


class Coalescer(Generic[Asked, Answer]):
    """`work` answers a batch in its order; to each caller it looks as if it had asked alone."""

    def __init__(
        self,
        work: Work[Asked, Answer],
        *,
        batch_max: int = BATCH_MAX,
        on_unclaimed: Callable[[Asked, Answer], None] | None = None,
    ) -> None:
        self._work = work
        # Its caller went away while the batch was out: what it got must not be lost with it.
        self._on_unclaimed = on_unclaimed
        self._batch_max = batch_max
        self._gathered: list[tuple[Asked, asyncio.Future[Answer]]] = []
        self._running: asyncio.Task[None] | None = None
        self.batches = 0

    async def ask(self, asked: Asked) -> Answer:
        future: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self._gathered.append((asked, future))
        if self._running is None:
            self._running = asyncio.create_task(self._run())
        return await future

    async def _run(self) -> None:
        try:
            while self._gathered:
                batch, self._gathered = self._gathered[: self._batch_max], self._gathered[self._batch_max :]
                # Who went away before the batch left takes nothing that somebody else could have.
                await self._serve([(asked, future) for asked, future in batch if not future.done()])
        finally:
            self._running = None

    async def _serve(self, batch: list[tuple[Asked, asyncio.Future[Answer]]]) -> None:
        if not batch:
            return
        self.batches += 1
        try:
            answers = await self._work([asked for asked, _ in batch])
        except FleetError as error:
            # Not of one member's making: the database is away.
            _fail(batch, error)
        except Exception as error:
            if len(batch) == 1:
                _fail(batch, error)
                return
            # One member upset the statement. Alone, it fails alone.
            for each in batch:
                await self._serve([each])
        else:
            for (asked, future), answer in zip(batch, answers, strict=True):
                self._hand_over(asked, future, answer)

    def _hand_over(self, asked: Asked, future: "asyncio.Future[Answer]", answer: Answer | FleetError) -> None:
        if isinstance(answer, FleetError):
            if not future.done():
                future.set_exception(answer)
        elif not future.done():
            future.set_result(answer)
        elif self._on_unclaimed is not None:
            self._on_unclaimed(asked, answer)


def _fail(batch: "list[tuple[Asked, asyncio.Future[Answer]]]", error: Exception) -> None:
    for _, future in batch:
        if not future.done():
            future.set_exception(error)
