"""The documentation is run: every command and snippet of the README and the tutorials, in order, in one fresh home.

One real `up` with engine and worker serves all pages, one terminal each; what a page shows must be printed, line by
line. How-tos: `test_docs_how_to.py`. A fence that cannot be run says why: `test_docs_pages.py` counts these.
"""

import shutil
from collections.abc import Iterator

import av
import pytest
from PIL import Image

from tests.journeys.docs_reader import Reader, reader

README = "README.md"
# Followed in any order, as pytest draws it: each must stand alone.
TUTORIALS = tuple(f"docs/tutorials/{name}.md" for name in ("first-steps", "first-job", "first-pipeline"))
PAGES = (README, *TUTORIALS)
DEMO_EFFECTS = {"glow", "paint", "painted-film", "pixel-film", "repaint"}
pytestmark = [
    pytest.mark.timeout(900),
    pytest.mark.flaky(reruns=0),  # a page that was followed is not followed again for the first time
    pytest.mark.skipif(not all(map(shutil.which, ("bash", "curl", "jq"))), reason="NO BASH, CURL OR JQ"),
]


@pytest.fixture(scope="module")
def at_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Reader]:
    with reader(tmp_path_factory.mktemp("reader")) as found:
        found.first_time(README)
        yield found


@pytest.mark.parametrize("page", PAGES)
def test_who_follows_a_page_gets_what_it_shows(at_home: Reader, page: str) -> None:
    wrong = at_home.first_time(page)
    assert not wrong, "\n\n".join(wrong)


def test_the_demo_of_the_readme_made_pictures_and_films(at_home: Reader) -> None:
    made = at_home.folder / "demo"
    for picture in ("paint", "repaint", "glow"):
        with Image.open(made / picture / f"{picture}_00001_.png") as opened:
            assert len(opened.convert("RGB").resize((64, 64)).getcolors(64 * 64) or []) > 100, picture
    for film in ("painted-film", "pixel-film"):
        with av.open(str(made / film / f"{film}_00001_.mp4")) as opened_film:
            assert sum(1 for _ in opened_film.decode(video=0)) == 24, film
            assert opened_film.streams.audio, film


@pytest.mark.parametrize("page", TUTORIALS)
def test_a_tutorial_can_be_followed_again_in_the_same_home(at_home: Reader, page: str) -> None:
    at_home.first_time(page)
    wrong = at_home.follow_again(page, but=("comfyfleet demo pipeline",))
    assert not wrong, "\n\n".join(wrong)


def test_nothing_of_it_is_left_in_the_gallery(at_home: Reader) -> None:
    for page in PAGES:
        at_home.first_time(page)
    assert {each["slug"] for each in at_home.get("/api/effects").json()["effects"]} == DEMO_EFFECTS
