"""A run to take home: one ZIP with its winners, how each was made, and a page that shows where they came from."""

import zipfile
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from html import escape
from typing import Annotated, Any

import msgspec
from fastapi import APIRouter, Depends, Query, Response
from starlette.responses import StreamingResponse

from comfyfleet import pipelines, storage
from comfyfleet.api.policy import TenantCaller, TheHouse, home_of
from comfyfleet.house import House
from comfyfleet.kernel.errors import FleetError
from comfyfleet.kernel.ids import CandidateId, FileId, RunId
from comfyfleet.kernel.page import PageRequest
from comfyfleet.pipelines import Candidate, CandidateStatus, Making, Pipeline, Run
from comfyfleet.storage import File, FileStatus
from comfyfleet.storage.model import content_disposition
from comfyfleet.tenants import Caller, Scope

router = APIRouter(prefix="/pipeline-runs", tags=["pipeline runs"])

Reader = Annotated[Caller, Depends(TenantCaller(Scope.READ))]
ZIP: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "A ZIP.",
        "content": {"application/zip": {"schema": {"type": "string", "format": "binary"}}},
    }
}
WINNERS_MAX = 1_000
PAGE_ROWS = 2_000
TREE_MAX = 100_000
PIECE_BYTES = 4 * 1024**2
RECORD, SHEET = "run.json", "contact-sheet.html"
_encode = msgspec.json.Encoder().encode


@dataclass(frozen=True, slots=True)
class Export:
    """All that is written, but for the bytes of the pictures. `names`: of the winners whose pictures are there."""

    run: Run
    pipeline: Pipeline
    tree: Mapping[CandidateId, Candidate]
    winners: Sequence[Candidate]
    names: Mapping[CandidateId, str]
    files: Mapping[FileId, File]
    makings: Mapping[CandidateId, Making]

    def line_of(self, candidate: Candidate) -> list[Candidate]:
        """Itself, and what it came from up to the first."""
        line = [candidate]
        while (parent := line[-1].parent_id) is not None and parent in self.tree:
            line.append(self.tree[parent])
        return line

    @property
    def shown(self) -> list[Candidate]:
        return list({each.id: each for winner in self.winners for each in self.line_of(winner)}.values())

    def file_of(self, candidate: Candidate) -> File | None:
        file = self.files.get(candidate.file_id)
        return file if file is not None and file.status is FileStatus.STORED else None


@router.get("/{run_id}/export", response_class=Response, responses=ZIP)
async def export_run(
    run_id: RunId,
    caller: Reader,
    house: TheHouse,
    top: Annotated[int | None, Query(ge=1, le=WINNERS_MAX, description="The best so many only.")] = None,
) -> Response:
    """The winners by rank, how each was made (`run.json`), and a contact sheet to open in a browser, as one ZIP."""
    export = await _gather(house, caller, run_id, top=top or WINNERS_MAX)
    headers = {
        "Content-Disposition": content_disposition(f"{export.pipeline.slug}-{export.run.id}.zip"),
        "Cache-Control": "no-store",
        "X-Content-Type-Options": "nosniff",
    }
    return StreamingResponse(_zipped(house, export), media_type="application/zip", headers=headers)


async def _gather(house: House, caller: Caller, run_id: RunId, *, top: int) -> Export:
    """In one transaction: the record must not contradict itself."""
    user_id, tree = caller.user_id, dict[CandidateId, Candidate]()
    async with house.tenant_tx(home_of(caller), read_only=True) as tx:
        run = await pipelines.read_run(tx, run_id, user_id)
        pipeline = await pipelines.read_pipeline(tx, run.pipeline_id)
        after: CandidateId | None = None
        while len(tree) < TREE_MAX:
            page = await pipelines.list_candidates(tx, run_id, user_id, PageRequest(PAGE_ROWS, after))
            tree |= {each.id: each for each in page.rows}
            if page.next_cursor is None:
                break
            after = page.rows[-1].id
        winners = rank_winners(run, pipeline, list(tree.values()))[:top]
        export = Export(run, pipeline, tree, winners, {}, {}, {})
        shown = export.shown
        files = await storage.read_files(tx, [each.file_id for each in shown], user_id)
        types = {file_id: file.media_type for file_id, file in files.items()}
        names = await pipelines.name_candidates(tx, [each for each in winners if each.file_id in files], user_id, types)
        makings = {each.id: await pipelines.read_making(tx, each.id, user_id) for each in shown}
    return Export(run, pipeline, tree, winners, names, files, makings)


def rank_winners(run: Run, pipeline: Pipeline, tree: Sequence[Candidate]) -> list[Candidate]:
    """Of the last step, by Elo; where nobody voted, by the score that opened the gates; then as they were made."""
    scorer, last = run.approval.scorer or "sharpness", len(pipeline.steps) - 1
    finals = [each for each in tree if each.position == last and each.status is CandidateStatus.ACTIVE]
    return sorted(finals, key=lambda each: (-each.elo, -(each.scores or {}).get(scorer, 0.0), each.id))


# ── the ZIP ─────────────────────────────────────────────────────────────────────────────────


class _Pipe:
    """What the ZIP writes, until it is sent. It cannot go back, and need not: sizes follow each file."""

    def __init__(self) -> None:
        self._written = bytearray()

    def write(self, data: bytes) -> int:
        self._written += data
        return len(data)

    def flush(self) -> None:
        """Nothing is held back."""

    def take(self) -> bytes:
        taken = bytes(self._written)
        self._written.clear()
        return taken


async def _zipped(house: House, export: Export) -> AsyncIterator[bytes]:
    """Pictures are packed already: they are put in as they are, a few MiB in memory at a time."""
    pipe, missing = _Pipe(), dict[str, str]()
    with zipfile.ZipFile(pipe, "w", zipfile.ZIP_STORED) as archive:  # type: ignore[call-overload]
        for winner in export.winners:
            async for piece in _put_picture(house, export, winner, archive, pipe, missing):
                yield piece
        for each in export.shown:
            file = export.file_of(each)
            with suppress(FleetError):  # the sheet says that there is none
                if file is not None:
                    thumb = await storage.read_thumb(house.store, house.prober, file)
                    archive.writestr(_entry(_thumb_name(each), each.created_at), thumb)
                    yield pipe.take()
        archive.writestr(_entry(RECORD, export.run.created_at), record_of(export, missing))
        archive.writestr(_entry(SHEET, export.run.created_at), sheet_of(export))
    yield pipe.take()


async def _put_picture(
    house: House,
    export: Export,
    winner: Candidate,
    archive: zipfile.ZipFile,
    pipe: _Pipe,
    missing: dict[str, str],
) -> AsyncIterator[bytes]:
    file, place = export.file_of(winner), 0
    if file is None or file.disk != house.store.disk:
        missing[str(winner.id)] = "Its picture is gone."
        return
    try:
        first = await house.store.read_range(file.key, 0, min(PIECE_BYTES, file.size_bytes))
    except FleetError as problem:
        missing[str(winner.id)] = problem.message
        return
    entry = _entry(export.names[winner.id], winner.created_at)
    entry.file_size = file.size_bytes
    with archive.open(entry, "w") as into:
        while first:
            into.write(first)
            place += len(first)
            yield pipe.take()
            first = await house.store.read_range(file.key, place, PIECE_BYTES)
    yield pipe.take()


def _entry(name: str, at: datetime) -> zipfile.ZipInfo:
    return zipfile.ZipInfo(name, (max(at.year, 1980), at.month, at.day, at.hour, at.minute, at.second))


def _thumb_name(candidate: Candidate) -> str:
    return f"thumbs/{candidate.id}.webp"


# ── what is written ─────────────────────────────────────────────────────────────────────────


def record_of(export: Export, missing: Mapping[str, str]) -> bytes:
    run = export.run
    record = {
        "run": {
            "id": str(run.id),
            "name": run.name,
            "pipeline": export.pipeline.slug,
            "pipeline_version": export.pipeline.version,
            "status": run.status.value,
            "variables": dict(run.variables),
            "target_folder": run.target_folder,
            "seed": run.seed,
            "tokens_spent": run.tokens_spent,
            "created_at": run.created_at,
            "ended_at": run.ended_at,
        },
        "winners": [
            {
                "rank": rank,
                "id": str(each.id),
                "file": None if str(each.id) in missing else export.names.get(each.id),
                "elo": each.elo,
                "votes": each.votes,
                "scores": dict(each.scores or {}),
                "parents": [str(parent.id) for parent in export.line_of(each)[1:]],
            }
            for rank, each in enumerate(export.winners, 1)
        ],
        "candidates": {str(each.id): _facts(export, each) for each in export.shown},
        "missing": dict(missing),
    }
    return msgspec.json.format(_encode(record), indent=2) + b"\n"


def _facts(export: Export, candidate: Candidate) -> dict[str, Any]:
    making = export.makings[candidate.id]
    return {
        "step": export.pipeline.steps[candidate.position].name,
        "parent_id": None if candidate.parent_id is None else str(candidate.parent_id),
        "job_id": str(candidate.job_id),
        "image_index": candidate.image_index,
        "seed": candidate.seed,
        "effect": making.effect,
        "workflow_version": making.workflow_version,
        "properties": dict(making.properties),
        "graph": making.graph,
    }


STYLE = (
    "body{font:15px/1.5 system-ui,sans-serif;margin:2rem;background:#16171a;color:#e8e8ea}"
    "h1{font-size:1.4rem}.line{display:flex;gap:1rem;align-items:center;margin:1.5rem 0;flex-wrap:wrap}"
    "figure{margin:0;max-width:256px}img{max-width:256px;max-height:256px;border-radius:6px;display:block}"
    ".line figure:first-child img{outline:3px solid #e0a33a}figcaption{color:#a6a7ab;font-size:.85rem}"
    "a{color:inherit}.arrow{color:#6c6e73}"
)


def sheet_of(export: Export) -> str:
    """Text from people is text here too: nothing of it becomes markup."""
    title = escape(f"{export.run.name}: {export.pipeline.name} {export.pipeline.version}")
    lines = "\n".join(_line(export, winner, rank) for rank, winner in enumerate(export.winners, 1))
    told = f"{len(export.tree)} candidates, {len(export.winners)} winners, {export.run.status.value}"
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{title}</title>'
        f"<style>{STYLE}</style></head>\n<body><h1>{title}</h1><p>{escape(told)}</p>\n{lines}\n</body></html>\n"
    )


def _line(export: Export, winner: Candidate, rank: int) -> str:
    figures = []
    for each in export.line_of(winner):
        step = escape(export.pipeline.steps[each.position].name)
        words = f"{f'#{rank} · ' if each.id == winner.id else ''}{step} · Elo {each.elo:.0f} · seed {each.seed}"
        picture = f'<img src="{_thumb_name(each)}" alt="{step}">'
        name = export.names.get(each.id)
        linked = f'<a href="{escape(name)}">{picture}</a>' if name else picture
        figures.append(f"<figure>{linked}<figcaption>{words}</figcaption></figure>")
    return f'<div class="line">{"<span class=arrow>←</span>".join(figures)}</div>'
