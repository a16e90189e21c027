"""Where everything stands on a contact sheet: sizes, rows, columns and pages. Pure."""

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

PAGE_WIDTH, PAGE_HEIGHT = 2400, 3200
PAGE_WIDTH_MIN = 1100
MARGIN, HEADER_HEIGHT, FOOTER_HEIGHT = 40, 130, 40
TILE_SIZES = (300, 240, 180, 120)
USUAL_ASPECT, ASPECTS = 1.5, (0.5, 2.5)
WINNER_HEIGHT, WINNERS_MAX = 420, 8
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
class Measures:
    """Of one scale, in pixels. `aspect`: what the run's pictures have, wide by high."""

    size: int
    steps: int
    aspect: float = USUAL_ASPECT

    @property
    def tile_width(self) -> int:
        """Of one area, whatever the shape."""
        return round(self.size * math.sqrt(self.aspect / USUAL_ASPECT))

    @property
    def picture_height(self) -> int:
        return round(self.tile_width / self.aspect)

    @property
    def text_px(self) -> int:
        return max(self.size // 16, 11)

    @property
    def row_height(self) -> int:
        return self.picture_height + 3 * self.text_px + 14

    @property
    def gap(self) -> int:
        return max(self.size // 4, 30)

    @property
    def column_width(self) -> int:
        return self.steps * (self.tile_width + self.gap) + self.gap // 2

    @property
    def columns(self) -> int:
        return max((PAGE_WIDTH - 2 * MARGIN) // self.column_width, 1)

    @property
    def rows(self) -> int:
        """A first page has the winners above them; the others are as long."""
        return max((PAGE_HEIGHT - 2 * MARGIN - HEADER_HEIGHT - FOOTER_HEIGHT - WINNER_HEIGHT) // self.row_height, 1)


# From a first candidate to one that has no children.
Row = tuple[Tile, ...]
Column = list[Row]
# From the left and from the top.
Place = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Plan:
    measures: Measures
    pages: list[list[Column]]


def plan_sheet(tiles: Sequence[Tile], steps: int, aspect: float) -> Plan:
    """On one page with the largest tiles that tear no family; else with the largest that fit; else on several pages."""
    families = _families(list(rows_of(tiles)))
    choices = [Measures(size, max(steps, 1), aspect) for size in TILE_SIZES]
    for measures in choices:
        if (whole := _whole_columns(families, measures)) is not None:
            return Plan(measures, [whole])
    for measures in choices:
        columns = _fill(families, measures.rows, whole=False)
        if len(columns) <= measures.columns:
            break
    at_once = measures.columns
    return Plan(measures, [columns[start : start + at_once] for start in range(0, len(columns), at_once)])


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


def _families(rows: Sequence[Row]) -> list[Column]:
    """All that came of one first candidate."""
    families: list[Column] = []
    for row in rows:
        if families and families[-1][0][0].id == row[0].id:
            families[-1].append(row)
        else:
            families.append([row])
    return families


def _whole_columns(families: Sequence[Column], measures: Measures) -> list[Column] | None:
    """As short as they can be side by side: a sheet is looked at on a wide screen. None: there is no room for them."""
    shortest = -(-sum(map(len, families)) // measures.columns)
    for height in range(shortest, measures.rows + 1):
        columns = _fill(families, height, whole=True)
        if len(columns) <= measures.columns and max(map(len, columns), default=0) <= measures.rows:
            return columns
    return None


def _fill(families: Sequence[Column], height: int, *, whole: bool) -> list[Column]:
    """`whole`: no family is torn, however long it is. Otherwise one that fits into no column goes on in the next."""
    columns: list[Column] = []
    for family in families:
        if columns and len(columns[-1]) + len(family) <= height:
            columns[-1] += family
        elif whole:
            columns.append(list(family))
        else:
            columns += [family[start : start + height] for start in range(0, len(family), height)]
    return columns


def place_tiles(column: Column, measures: Measures, *, left: int, top: int) -> dict[str, tuple[Tile, Place]]:
    """Each below its step's name, in the middle of what came of it."""
    lines: dict[str, list[int]] = defaultdict(list)
    tiles = {}
    for at, row in enumerate(column):
        for tile in row:
            lines[tile.id].append(at)
            tiles[tile.id] = tile
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
