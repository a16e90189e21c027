"""A run's winners to a folder, with a contact sheet and all that made each of them. Over the API only."""

import asyncio
import json
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from comfyfleet.cli.output import plain
from comfyfleet.client import AsyncClient, Candidate, FleetError, InvalidInput, Making, Run, Unavailable
from comfyfleet.client.download import plain_name

AT_ONCE = 8
# Beyond them a sheet would be a book; winners and where they came from are on it in any case.
SHEET_MAX = 5_000
SHEET, RECORD = "contact-sheet", "run.json"
SHEET_QUALITY = 88
SHOWN_SCORES = ("sharpness", "exposure", "unique")
ACTIVE = "active"


class SheetNeedsPillow(Unavailable):
    """The contact sheet is drawn with Pillow."""

    code = "sheet_needs_pillow"
    text = "The contact sheet is drawn with Pillow. Install it with: pip install 'comfyfleet[media]'"

    def __init__(self) -> None:
        super().__init__()


@dataclass
class Exported:
    """`missing`: whose pictures could not be had, and why."""

    folder: Path
    run: Run
    files: list[Path] = field(default_factory=list)
    sheets: list[Path] = field(default_factory=list)
    record: Path | None = None
    missing: dict[str, str] = field(default_factory=dict)


async def export_run(fleet: AsyncClient, run_id: str, folder: Path, *, top: int | None = None) -> Exported:
    """What is there already under a name is fetched again: it is the same picture."""
    if find_spec("PIL") is None:
        raise SheetNeedsPillow
    run = await fleet.runs.read(run_id)
    tree = {each.id: each async for each in fleet.runs.candidates(run_id)}
    winners = winners_of(run, list(tree.values()))[:top]
    export = _Export(fleet, run, tree, winners, folder)
    with tempfile.TemporaryDirectory(prefix="comfyfleet-export-") as scratch:
        try:
            return await export.write(Path(scratch))
        except OSError as problem:
            raise InvalidInput("folder", f"{problem.filename or folder}: {problem.strerror or problem}") from None


def winners_of(run: Run, candidates: Sequence[Candidate]) -> list[Candidate]:
    """Of the last step, by Elo; where nobody voted, by the score that opened the gates; then as they were made."""
    scorer = str(run.approval.get("scorer") or SHOWN_SCORES[0]).partition("+")[0]
    last = len(run.steps) - 1
    finals = [each for each in candidates if each.position == last and each.status == ACTIVE]
    return sorted(finals, key=lambda each: (-each.elo, -(each.scores or {}).get(scorer, 0.0), each.id))


def safe_path(folder: Path, name: str) -> Path:
    """Below the folder, whatever the server says."""
    parts = [part for part in name.split("/") if part]
    if not parts or any(part in (".", "..") for part in parts):
        raise InvalidInput("name", f"{name!r} is no name for a file")
    return folder.joinpath(*(plain_name(part) for part in parts))


class _Export:
    def __init__(
        self,
        fleet: AsyncClient,
        run: Run,
        tree: Mapping[str, Candidate],
        winners: Sequence[Candidate],
        folder: Path,
    ) -> None:
        self._fleet, self._run, self._tree, self._winners = fleet, run, tree, winners
        self._done = Exported(folder, run)
        self._turns = asyncio.Semaphore(AT_ONCE)
        self._hashes: dict[str, str] = {}

    async def write(self, scratch: Path) -> Exported:
        folder, done = self._done.folder, self._done
        kept = {each.id: safe_path(folder, each.name) for each in self._winners}
        shown = self._shown()
        wanted = {each.id: kept.get(each.id, scratch / each.id) for each in shown}
        fetched = await asyncio.gather(*(self._fetch(self._tree[name], to) for name, to in wanted.items()))
        pictures = {name: to for name, to in zip(wanted, fetched, strict=True) if to is not None}
        done.files = [pictures[each.id] for each in self._winners if each.id in pictures]
        made = await self._read_makings()
        done.record = await asyncio.to_thread(self._write_record, made, pictures)
        done.sheets = await asyncio.to_thread(self._draw, shown, pictures)
        return done

    def _shown(self) -> list[Candidate]:
        first = {each.id: each for winner in self._winners for each in self._line(winner)}
        rest = (each for each in self._tree.values() if each.id not in first)
        return [*first.values(), *rest][:SHEET_MAX]

    def _line(self, candidate: Candidate) -> list[Candidate]:
        """Itself, and what it came from up to the first."""
        line = [candidate]
        while (parent := self._tree.get(line[-1].parent_id or "")) is not None and len(line) <= len(self._run.steps):
            line.append(parent)
        return line

    async def _fetch(self, candidate: Candidate, to: Path) -> Path | None:
        async with self._turns:
            try:
                saved = await self._fleet.runs.save(candidate, to)
            except FleetError as problem:
                self._done.missing[candidate.id] = problem.message
                return None
            self._hashes[candidate.id] = saved.sha256
            return to

    async def _read_makings(self) -> dict[str, Making | None]:
        names = list(dict.fromkeys(each.id for winner in self._winners for each in self._line(winner)))
        found = await asyncio.gather(*(self._read_making(name) for name in names))
        return dict(zip(names, found, strict=True))

    async def _read_making(self, name: str) -> Making | None:
        async with self._turns:
            try:
                return await self._fleet.runs.making(name)
            except FleetError as problem:
                self._done.missing[name] = problem.message
                return None

    # ── the record ──

    def _write_record(self, made: Mapping[str, Making | None], pictures: Mapping[str, Path]) -> Path:
        folder = self._done.folder
        record = {
            "run": plain(self._run),
            "winners": [
                {
                    "rank": rank,
                    "id": each.id,
                    "file": pictures[each.id].relative_to(folder).as_posix() if each.id in pictures else None,
                    "sha256": self._hashes.get(each.id),
                    "elo": each.elo,
                    "votes": each.votes,
                    "scores": _shown_scores(each),
                    "variables": self._run.variables,
                    "parents": [parent.id for parent in self._line(each)[1:]],
                }
                for rank, each in enumerate(self._winners, 1)
            ],
            "candidates": {name: self._facts(self._tree[name], making) for name, making in made.items()},
        }
        folder.mkdir(parents=True, exist_ok=True)
        to = folder / RECORD
        to.write_text(json.dumps(record, indent=2, default=str, ensure_ascii=False) + "\n", encoding="utf-8")
        return to

    def _facts(self, candidate: Candidate, making: Making | None) -> dict[str, Any]:
        """How it was made: what `runs replay` would make again."""
        return {
            "step": self._run.steps[candidate.position].name,
            "parent_id": candidate.parent_id,
            "job_id": candidate.job_id,
            "image_index": candidate.image_index,
            "seed": candidate.seed,
            "effect": making.effect if making else None,
            "workflow_version": making.workflow_version if making else None,
            "properties": making.properties if making else None,
            "graph": making.graph if making else None,
        }

    # ── the sheet ──

    def _draw(self, shown: Sequence[Candidate], pictures: Mapping[str, Path]) -> list[Path]:
        from comfyfleet.media.sheet import Sheet, draw_sheet  # loads Pillow

        ranks = {each.id: rank for rank, each in enumerate(self._winners, 1)}
        run = self._run
        tiles = [_tile(each, ranks.get(each.id), pictures.get(each.id)) for each in shown]
        title = f"{run.name}: {run.pipeline} {run.pipeline_version}"
        told = [run.target_folder, f"{len(self._tree)} candidates", f"{len(ranks)} winners", run.status, run.id]
        written = []
        for number, page in enumerate(draw_sheet(Sheet(title, " · ".join(told), _steps(run), tiles)), 1):
            to = self._done.folder / (f"{SHEET}.jpg" if number == 1 else f"{SHEET}-{number}.jpg")
            page.save(to, "JPEG", quality=SHEET_QUALITY)
            written.append(to)
        return written


def _steps(run: Run) -> tuple[str, ...]:
    return tuple(step.name for step in run.steps)


def _shown_scores(candidate: Candidate) -> dict[str, float]:
    scores = candidate.scores or {}
    return {name: scores[name] for name in SHOWN_SCORES if name in scores}


def _tile(candidate: Candidate, rank: int | None, picture: Path | None) -> Any:
    from comfyfleet.media.sheet_plan import Tile

    return Tile(
        candidate.id,
        candidate.parent_id,
        candidate.position,
        candidate.elo,
        candidate.votes,
        rank,
        is_rejected=candidate.status != ACTIVE,
        is_passed=candidate.is_passed,
        scores=_shown_scores(candidate),
        picture=picture,
    )
