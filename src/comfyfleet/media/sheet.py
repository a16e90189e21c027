"""The contact sheet of a run: its whole tree on one picture, steps from left to right, the best on top.

Small runs have large tiles; large ones smaller tiles, and then several pages. Needs the extra `media`.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path

from PIL import Image, ImageDraw, ImageEnhance, ImageFont, ImageOps

PAGE_WIDTH, PAGE_HEIGHT = 2400, 3200
MARGIN, HEADER_HEIGHT, FOOTER_HEIGHT = 40, 120, 40
TILE_WIDTHS = (280, 220, 160, 112)
PAPER, INK, FAINT, LINE = (250, 249, 246), (34, 34, 38), (120, 118, 112), (176, 172, 162)
GOLD, GONE, EMPTY = (214, 158, 46), (186, 74, 66), (226, 223, 215)
TITLE_CHARS_MAX = 80
GROUP_ROWS_MIN = 4
UNRANKED = 10**9


@dataclass(frozen=True, slots=True)
class Tile:
    """One candidate. `rank`: its place among the winners, for those of the last step."""

    id: str
    parent_id: str | None
    position: int
    elo: float
    votes: int = 0
    rank: int | None = None
    is_rejected: bool = False
    is_passed: bool = True
    scores: Mapping[str, float] = field(default_factory=dict)
    picture: Path | bytes | None = None


@dataclass(frozen=True, slots=True)
class Sheet:
    title: str
    subtitle: str
    steps: tuple[str, ...]
    tiles: Sequence[Tile]


@dataclass(frozen=True, slots=True)
class Measures:
    """Of one scale, in pixels."""

    tile_width: int
    steps: int

    @property
    def picture_height(self) -> int:
        return self.tile_width * 2 // 3

    @property
    def text_px(self) -> int:
        return max(self.tile_width // 13, 11)

    @property
    def row_height(self) -> int:
        return self.picture_height + 3 * self.text_px + 12

    @property
    def gap(self) -> int:
        return max(self.tile_width // 4, 24)

    @property
    def group_width(self) -> int:
        return self.steps * (self.tile_width + self.gap) + self.gap // 2

    @property
    def groups(self) -> int:
        return max((PAGE_WIDTH - 2 * MARGIN) // self.group_width, 1)

    @property
    def rows(self) -> int:
        return (PAGE_HEIGHT - 2 * MARGIN - HEADER_HEIGHT - FOOTER_HEIGHT) // self.row_height


Row = tuple[Tile, ...]


def draw_sheet(sheet: Sheet) -> Iterator[Image.Image]:
    """Page by page: a large run's pictures are not all in memory."""
    rows = list(rows_of(sheet.tiles))
    measures = fitting(len(rows), len(sheet.steps))
    # Side by side before below each other: a sheet is looked at on a wide screen.
    size = min(measures.rows, max(-(-len(rows) // measures.groups), GROUP_ROWS_MIN))
    groups = [rows[start : start + size] for start in range(0, len(rows), size)] or [[]]
    pages = [groups[start : start + measures.groups] for start in range(0, len(groups), measures.groups)]
    for number, page in enumerate(pages, 1):
        yield _Page(sheet, measures, page).draw(number, len(pages))


def fitting(rows: int, steps: int) -> Measures:
    """The largest tiles that need one page; the smallest, where none does."""
    choices = [Measures(width, max(steps, 1)) for width in TILE_WIDTHS]
    return next((each for each in choices if rows <= each.rows * each.groups), choices[-1])


def rows_of(tiles: Sequence[Tile]) -> Iterator[Row]:
    """One row for each that has no children, with all it came from. The best first, rejected ones last."""
    known = {each.id: each for each in tiles}
    best = _best_ranks(known)
    below: dict[str | None, list[Tile]] = defaultdict(list)
    for each in sorted(tiles, key=lambda tile: _order(tile, best[tile.id])):
        below[each.parent_id if each.parent_id in known else None].append(each)
    waiting: list[Row] = [(each,) for each in reversed(below[None])]
    while waiting:
        path = waiting.pop()
        children = below.get(path[-1].id, [])
        if not children:
            yield path
        waiting += [(*path, child) for child in reversed(children)]


def _best_ranks(known: Mapping[str, Tile]) -> dict[str, int]:
    """Of what came of each: the way to the first winner is the first to be seen."""
    best = dict.fromkeys(known, UNRANKED)
    for each in known.values():
        at: Tile | None = each
        while at is not None and (each.rank or UNRANKED) < best[at.id]:
            best[at.id] = each.rank or UNRANKED
            at = known.get(at.parent_id or "")
    return best


def _order(tile: Tile, best: int) -> tuple[bool, int, bool, float, str]:
    return (tile.is_rejected, best, not tile.is_passed, -tile.elo, tile.id)


class _Page:
    def __init__(self, sheet: Sheet, measures: Measures, groups: Sequence[Sequence[Row]]) -> None:
        self._sheet, self._measures, self._groups = sheet, measures, groups
        rows = max((len(group) for group in groups), default=0)
        width = max(2 * MARGIN + len(groups) * measures.group_width, 900)
        height = 2 * MARGIN + HEADER_HEIGHT + max(rows, 1) * measures.row_height + FOOTER_HEIGHT
        self._paper = Image.new("RGB", (width, height), PAPER)
        self._pen = ImageDraw.Draw(self._paper)
        self._small = ImageFont.load_default(measures.text_px)

    def draw(self, number: int, of: int) -> Image.Image:
        pen, width = self._pen, self._paper.width
        pen.text((MARGIN, MARGIN - 8), self._sheet.title[:TITLE_CHARS_MAX], INK, ImageFont.load_default(34))
        pen.text((MARGIN, MARGIN + 36), self._sheet.subtitle[: 2 * TITLE_CHARS_MAX], FAINT, ImageFont.load_default(18))
        if of > 1:
            pen.text((width - MARGIN, MARGIN), f"page {number} of {of}", FAINT, ImageFont.load_default(18), anchor="ra")
        for at, group in enumerate(self._groups):
            self._draw_group(MARGIN + at * self._measures.group_width, group)
        legend = (
            "gold: a winner, by rank   ·   faded: passed over by a scorer   ·   crossed: rejected   ·   Elo from 1000"
        )
        pen.text((MARGIN, self._paper.height - MARGIN), legend, FAINT, ImageFont.load_default(15), anchor="ls")
        return self._paper

    def _draw_group(self, left: int, group: Sequence[Row]) -> None:
        measures = self._measures
        for position, name in enumerate(self._sheet.steps):
            x = left + position * (measures.tile_width + measures.gap)
            words = _fit(f"{position + 1}  {name}", self._small, measures.tile_width + measures.gap // 2)
            self._pen.text((x, MARGIN + HEADER_HEIGHT - 14), words, INK, self._small, anchor="ls")
        places = self._places(left, group)
        for tile, (x, y) in places.values():
            if tile.parent_id in places:
                self._join(places[tile.parent_id][1], (x, y))
        for tile, place in places.values():
            self._draw_tile(tile, place)

    def _places(self, left: int, group: Sequence[Row]) -> dict[str, tuple[Tile, tuple[int, int]]]:
        """Each in its step's column, in the middle of what came of it."""
        measures = self._measures
        lines: dict[str, list[int]] = defaultdict(list)
        tiles = {}
        for at, row in enumerate(group):
            for tile in row:
                lines[tile.id].append(at)
                tiles[tile.id] = tile
        top = MARGIN + HEADER_HEIGHT
        return {
            name: (
                tile,
                (
                    left + tile.position * (measures.tile_width + measures.gap),
                    round(top + (lines[name][0] + lines[name][-1]) / 2 * measures.row_height),
                ),
            )
            for name, tile in tiles.items()
        }

    def _join(self, parent: tuple[int, int], child: tuple[int, int]) -> None:
        measures = self._measures
        half = measures.picture_height // 2
        start, end = (parent[0] + measures.tile_width, parent[1] + half), (child[0], child[1] + half)
        bend = end[0] - measures.gap // 2
        self._pen.line([start, (bend, start[1]), (bend, end[1]), end], LINE, 2)

    def _draw_tile(self, tile: Tile, place: tuple[int, int]) -> None:
        measures, (x, y) = self._measures, place
        box = (x, y, x + measures.tile_width - 1, y + measures.picture_height - 1)
        self._paper.paste(_thumbnail(tile, measures), (x, y))
        if tile.is_rejected:
            self._pen.line([box[:2], box[2:]], GONE, 3)
            self._pen.line([(box[0], box[3]), (box[2], box[1])], GONE, 3)
        edge = GOLD if tile.rank is not None else LINE
        self._pen.rectangle(box, outline=edge, width=4 if tile.rank is not None else 1)
        if tile.rank is not None:
            self._badge(tile.rank, x, y)
        below = y + measures.picture_height + 4
        for at, (words, colour) in enumerate(((_standing(tile), INK), (_told(tile.scores), FAINT))):
            line = _fit(words, self._small, measures.tile_width + measures.gap // 2)
            self._pen.text((x, below + at * (measures.text_px + 3)), line, colour, self._small)

    def _badge(self, rank: int, x: int, y: int) -> None:
        words = f"#{rank}"
        width = self._small.getlength(words) + 10
        self._pen.rectangle((x, y, x + width, y + self._measures.text_px + 8), fill=GOLD)
        self._pen.text((x + 5, y + 2), words, INK, self._small)


def _standing(tile: Tile) -> str:
    votes = f" · {tile.votes} vote{'s' if tile.votes != 1 else ''}" if tile.votes else ""
    return f"Elo {tile.elo:.0f}{votes}"


def _told(scores: Mapping[str, float]) -> str:
    """Beside Elo: whole numbers where they are large."""
    return " · ".join(
        f"{name[:5]} {value:.0f}" if value >= 10 else f"{name[:5]} {value:.2f}" for name, value in scores.items()
    )


def _fit(words: str, font: ImageFont.FreeTypeFont | ImageFont.ImageFont, width: float) -> str:
    if font.getlength(words) <= width:
        return words
    while words and font.getlength(words + "…") > width:
        words = words[:-1]
    return words + "…"


def _thumbnail(tile: Tile, measures: Measures) -> Image.Image:
    size = (measures.tile_width, measures.picture_height)
    ground = Image.new("RGB", size, EMPTY)
    small = _read(tile.picture, size)
    if small is None:
        ImageDraw.Draw(ground).text((size[0] / 2, size[1] / 2), "no picture", FAINT, anchor="mm")
    else:
        ground.paste(small, ((size[0] - small.width) // 2, (size[1] - small.height) // 2))
    if tile.is_rejected or not tile.is_passed:
        return Image.blend(ImageEnhance.Color(ground).enhance(0.25), Image.new("RGB", size, PAPER), 0.45)
    return ground


def _read(picture: Path | bytes | None, size: tuple[int, int]) -> Image.Image | None:
    """None for one that cannot be read: a sheet with a hole says more than none."""
    if picture is None:
        return None
    try:
        with Image.open(BytesIO(picture) if isinstance(picture, bytes) else picture) as found:
            found.draft("RGB", (2 * size[0], 2 * size[1]))
            found.thumbnail(size)
            upright = ImageOps.exif_transpose(found).convert("RGBA")
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError, Image.DecompressionBombWarning):
        return None
    on_paper = Image.new("RGBA", upright.size, (*EMPTY, 255))
    return Image.alpha_composite(on_paper, upright).convert("RGB")
