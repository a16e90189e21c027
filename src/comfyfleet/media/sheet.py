"""The contact sheet of a run: the winners, and below them its whole tree, steps from left to right, the best on top.

Small runs have large tiles; large ones smaller tiles, and then several pages. Needs the extra `media`.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from io import BytesIO
from itertools import islice
from pathlib import Path
from statistics import median

from PIL import Image, ImageDraw, ImageEnhance, ImageFont, ImageOps

from comfyfleet.media.sheet_plan import (
    ASPECTS,
    FOOTER_HEIGHT,
    HEADER_HEIGHT,
    MARGIN,
    PAGE_WIDTH_MIN,
    USUAL_ASPECT,
    WINNER_HEIGHT,
    WINNERS_MAX,
    Column,
    Measures,
    Place,
    Tile,
    place_tiles,
    plan_sheet,
)

PAPER, INK, FAINT, LINE = (250, 249, 246), (34, 34, 38), (120, 118, 112), (190, 186, 176)
GOLD, GONE, EMPTY = (214, 158, 46), (186, 74, 66), (232, 229, 222)
TITLE_PX, SUBTITLE_PX, LEGEND_PX, WINNER_PX = 34, 18, 16, 20
LEGEND = "gold: a winner, and its way  ·  faded: passed over by a scorer  ·  crossed: rejected  ·  Elo from 1000"
# So many tell what shape the run's pictures have.
SAMPLE = 24
SHORT = {"sharpness": "sharp", "exposure": "expo", "unique": "uniq"}
UNREADABLE = (OSError, ValueError, SyntaxError, Image.DecompressionBombError, Image.DecompressionBombWarning)

Font = ImageFont.FreeTypeFont | ImageFont.ImageFont


@dataclass(frozen=True, slots=True)
class Sheet:
    title: str
    subtitle: str
    steps: tuple[str, ...]
    tiles: Sequence[Tile]


def draw_sheet(sheet: Sheet) -> Iterator[Image.Image]:
    """Page by page: a large run's pictures are not all in memory."""
    plan = plan_sheet(sheet.tiles, len(sheet.steps), _usual_aspect(sheet.tiles))
    for number, columns in enumerate(plan.pages, 1):
        yield _Page(sheet, plan.measures, columns, is_first=number == 1).draw(number, len(plan.pages))


def _usual_aspect(tiles: Sequence[Tile]) -> float:
    pictures = (each.picture for each in tiles if each.picture is not None)
    found = [aspect for aspect in map(_aspect, islice(pictures, SAMPLE)) if aspect is not None]
    return min(max(median(found), ASPECTS[0]), ASPECTS[1]) if found else USUAL_ASPECT


def _aspect(picture: Path | bytes) -> float | None:
    try:
        with Image.open(BytesIO(picture) if isinstance(picture, bytes) else picture) as found:
            return found.width / found.height
    except UNREADABLE:
        return None


class _Page:
    def __init__(self, sheet: Sheet, measures: Measures, columns: Sequence[Column], *, is_first: bool) -> None:
        self._sheet, self._measures, self._columns = sheet, measures, columns
        ranked = sorted((each for each in sheet.tiles if each.rank is not None), key=lambda each: each.rank or 0)
        self._golden = _ways(sheet.tiles)
        self._winners = ranked[:WINNERS_MAX] if is_first else []
        rows = max((len(column) for column in columns), default=0)
        width = max(2 * MARGIN + _width(columns, measures), PAGE_WIDTH_MIN)
        self._top = MARGIN + HEADER_HEIGHT + (WINNER_HEIGHT if self._winners else 0)
        height = self._top + max(rows, 1) * measures.row_height + FOOTER_HEIGHT + MARGIN
        self._paper = Image.new("RGB", (width, height), PAPER)
        self._pen = ImageDraw.Draw(self._paper)
        self._small = ImageFont.load_default(measures.text_px)

    def draw(self, number: int, of: int) -> Image.Image:
        pen, width = self._pen, self._paper.width
        room = width - 2 * MARGIN - (180 if of > 1 else 0)
        for words, colour, size, y in (
            (self._sheet.title, INK, TITLE_PX, MARGIN - 8),
            (self._sheet.subtitle, FAINT, SUBTITLE_PX, MARGIN + 38),
        ):
            font = ImageFont.load_default(size)
            pen.text((MARGIN, y), _fit(words, font, room), colour, font)
        if of > 1:
            font = ImageFont.load_default(SUBTITLE_PX)
            pen.text((width - MARGIN, MARGIN), f"page {number} of {of}", FAINT, font, anchor="ra")
        self._draw_winners()
        for at, column in enumerate(self._columns):
            self._draw_column(MARGIN + at * self._measures.column_width, column)
        font = ImageFont.load_default(LEGEND_PX)
        pen.text((MARGIN, self._paper.height - MARGIN), _fit(LEGEND, font, room), FAINT, font, anchor="ls")
        return self._paper

    # ── the winners ──

    def _draw_winners(self) -> None:
        """Larger than in the tree, as many as there is room for."""
        x, y, font = MARGIN, MARGIN + HEADER_HEIGHT - 50, ImageFont.load_default(WINNER_PX)
        height = WINNER_HEIGHT - 2 * WINNER_PX - 60
        width = round(height * self._measures.aspect)
        for tile in self._winners:
            if x + width > self._paper.width - MARGIN:
                break
            self._frame(tile, (x, y), (width, height), font)
            self._words(tile, (x, y + height + 8), width + 10, font)
            x += width + 24

    # ── the tree ──

    def _draw_column(self, left: int, column: Column) -> None:
        measures = self._measures
        for position in sorted({tile.position for row in column for tile in row}):
            x = left + position * (measures.tile_width + measures.gap)
            name = self._sheet.steps[position] if position < len(self._sheet.steps) else ""
            words = _fit(f"{position + 1}  {name}", self._small, measures.tile_width + measures.gap // 2)
            self._pen.text((x, self._top - 14), words, INK, self._small, anchor="ls")
        places = place_tiles(column, self._measures, left=left, top=self._top)
        joined = [each for each in places.values() if each[0].parent_id in places]
        # Gold last: it lies above the others where they meet.
        for tile, place in sorted(joined, key=lambda each: each[0].id in self._golden):
            self._join(places[str(tile.parent_id)][1], place, is_golden=tile.id in self._golden)
        for tile, place in places.values():
            self._draw_tile(tile, place)

    def _join(self, parent: Place, child: Place, *, is_golden: bool) -> None:
        measures = self._measures
        half = measures.picture_height // 2
        start, end = (parent[0] + measures.tile_width, parent[1] + half), (child[0], child[1] + half)
        bend = end[0] - measures.gap // 2
        colour, width = (GOLD, 4) if is_golden else (LINE, 2)
        self._pen.line([start, (bend, start[1]), (bend, end[1]), end], colour, width)

    def _draw_tile(self, tile: Tile, place: Place) -> None:
        measures, (x, y) = self._measures, place
        self._frame(tile, place, (measures.tile_width, measures.picture_height), self._small)
        self._words(tile, (x, y + measures.picture_height + 5), measures.tile_width + measures.gap // 2, self._small)

    def _frame(self, tile: Tile, place: Place, size: tuple[int, int], font: Font) -> None:
        (x, y), (width, height) = place, size
        box = (x, y, x + width - 1, y + height - 1)
        self._paper.paste(_thumbnail(tile, size), place)
        if tile.is_rejected:
            self._pen.line([box[:2], box[2:]], GONE, 3)
            self._pen.line([(box[0], box[3]), (box[2], box[1])], GONE, 3)
        is_golden = tile.id in self._golden
        self._pen.rectangle(box, outline=GOLD if is_golden else LINE, width=4 if is_golden else 1)
        if tile.rank is not None:
            words = f"#{tile.rank}"
            right, bottom = x + font.getlength(words) + 14, y + font.getbbox(words)[3] + 8
            self._pen.rectangle((x, y, right, bottom), fill=GOLD)
            self._pen.text((x + 7, y + 3), words, INK, font)

    def _words(self, tile: Tile, place: Place, room: int, font: Font) -> None:
        x, y = place
        line_height = round(font.getbbox("Ég")[3] * 1.15)
        self._pen.text((x, y), _fit(_standing(tile), font, room), INK, font)
        self._pen.text((x, y + line_height), _told(tile.scores, font, room), FAINT, font)


def _width(columns: Sequence[Column], measures: Measures) -> int:
    """Of the last one as far as it goes, with room for the words below its tiles."""
    if not columns:
        return 0
    steps = max(len(row) for row in columns[-1])
    last = steps * (measures.tile_width + measures.gap) - measures.gap // 2
    return (len(columns) - 1) * measures.column_width + last


def _ways(tiles: Sequence[Tile]) -> set[str]:
    """The winners, and all that they came from."""
    known = {each.id: each for each in tiles}
    golden: set[str] = set()
    for each in tiles:
        at = each if each.rank is not None else None
        while at is not None and at.id not in golden:
            golden.add(at.id)
            at = known.get(at.parent_id or "")
    return golden


def _standing(tile: Tile) -> str:
    votes = f" · {tile.votes} vote{'s' if tile.votes != 1 else ''}" if tile.votes else ""
    return f"Elo {tile.elo:.0f}{votes}"


def _told(scores: Mapping[str, float], font: Font, room: float) -> str:
    """Beside Elo. Where there is no room for whole words, the first letters; then fewer scores, never half of one."""
    figures = {name: f"{value:.0f}" if value >= 10 else f"{value:.2f}" for name, value in scores.items()}
    for count in range(len(figures), 0, -1):
        shown = list(islice(figures.items(), count))
        for short in ({}, SHORT):
            words = " · ".join(f"{short.get(name, name)} {figure}" for name, figure in shown)
            if font.getlength(words) <= room:
                return words
    return ""


def _fit(words: str, font: Font, room: float) -> str:
    if font.getlength(words) <= room:
        return words
    while words and font.getlength(words + "…") > room:
        words = words[:-1]
    return words + "…"


def _thumbnail(tile: Tile, size: tuple[int, int]) -> Image.Image:
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
            found.thumbnail((2 * size[0], 2 * size[1]), reducing_gap=1.0)
            upright = ImageOps.exif_transpose(found).convert("RGBA")
    except UNREADABLE:
        return None
    # Small pictures are made larger, too: a sheet of stamps is for nobody.
    fitted = ImageOps.contain(upright, size, Image.Resampling.LANCZOS)
    on_paper = Image.new("RGBA", fitted.size, (*EMPTY, 255))
    return Image.alpha_composite(on_paper, fitted).convert("RGB")
