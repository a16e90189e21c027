"""The contact sheet: everybody is on it, nobody stands on anybody else, and what it shows is what there is."""

from io import BytesIO

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from comfyfleet.media.sheet import GOLD, GONE, Sheet, draw_sheet
from comfyfleet.media.sheet_plan import MARGIN, PAGE_HEIGHT, PAGE_WIDTH, Measures, Tile, place_tiles, plan_sheet

STEPS = 3
SCORES = {"sharpness": 24.4, "exposure": 0.91, "unique": 0.5}


def a_tree(parents: list[int]) -> list[Tile]:
    """Each number says of whom the next one was made: the first few are of nobody."""
    tiles: list[Tile] = []
    for at, wanted in enumerate(parents):
        parent = tiles[wanted % len(tiles)] if tiles and wanted >= 0 else None
        if parent is not None and parent.position == STEPS - 1:
            parent = None
        position = 0 if parent is None else parent.position + 1
        rank = at + 1 if position == STEPS - 1 else None
        tiles.append(Tile(f"{at:04}", parent.id if parent else None, position, 1000.0 - at, rank=rank))
    return tiles


TREES = st.lists(st.integers(-1, 400), min_size=1, max_size=400).map(a_tree)


@given(TREES, st.floats(0.5, 2.5))
def test_everybody_is_there_and_nobody_stands_on_anybody(tiles: list[Tile], aspect: float) -> None:
    plan = plan_sheet(tiles, STEPS, aspect)
    measures, seen = plan.measures, set()
    assert all(1 <= len(page) <= measures.columns for page in plan.pages)
    for page in plan.pages:
        taken: dict[int, list[int]] = {}
        for at, column in enumerate(page):
            assert 1 <= len(column) <= measures.rows
            for tile, (x, y) in place_tiles(column, measures, left=at * measures.column_width, top=0).values():
                seen.add(tile.id)
                taken.setdefault(x, []).append(y)
                assert x + measures.tile_width <= PAGE_WIDTH - 2 * MARGIN
        for places in taken.values():
            below = zip(sorted(places), sorted(places)[1:], strict=False)
            assert all(after - before >= measures.row_height for before, after in below)
    assert seen == {each.id for each in tiles}


@pytest.mark.parametrize("aspect", [0.5, 1.0, 1.5, 2.5])
def test_tiles_have_the_shape_of_their_pictures_and_room_for_words(aspect: float) -> None:
    for size in (120, 300):
        measures = Measures(size, STEPS, aspect)
        assert measures.tile_width / measures.picture_height == pytest.approx(aspect, rel=0.02)
        assert measures.row_height >= measures.picture_height + 3 * measures.text_px


def a_square(colour: str) -> bytes:
    kept = BytesIO()
    Image.new("RGB", (64, 64), colour).save(kept, "PNG")
    return kept.getvalue()


def test_a_sheet_shows_the_pictures_the_winners_and_what_was_rejected() -> None:
    tiles = [
        Tile("a", None, 0, 1000, scores=SCORES, picture=a_square("navy")),
        Tile("b", "a", 1, 1016, votes=1, scores=SCORES, picture=a_square("teal")),
        Tile("c", "a", 1, 984, votes=1, is_rejected=True, picture=b"no picture at all"),
        Tile("d", "b", 2, 1000, rank=1, scores=SCORES, picture=a_square("maroon")),
    ]
    [page] = draw_sheet(Sheet("A " + "very " * 60 + "long name", "1 winner", ("One", "Two", "Three"), tiles))
    assert page.width <= PAGE_WIDTH
    assert page.height <= PAGE_HEIGHT
    colours = {colour for _, colour in page.getcolors(page.width * page.height) or []}
    assert {(0, 0, 128), (0, 128, 128), (128, 0, 0), GOLD, GONE} <= colours


def test_a_run_that_made_nothing_has_a_sheet_too() -> None:
    [page] = draw_sheet(Sheet("Night", "nothing", ("One",), []))
    assert page.width > 0
