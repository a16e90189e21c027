"""Nothing leaves the three folders."""

from pathlib import Path

import pytest

from comfyfleet.engine.folders import Folders, OutsideFolder


@pytest.fixture
def folders(tmp_path: Path) -> Folders:
    made = Folders(tmp_path / "engine")
    made.make()
    return made


@pytest.mark.parametrize("name", ["../secret", "../../etc/passwd", "a/../../x", "/etc/passwd", "../secret [output]"])
def test_names_that_lead_out_are_refused(folders: Folders, name: str):
    with pytest.raises(OutsideFolder):
        folders.find_upload(name)


def test_a_link_that_leads_out_is_refused(folders: Folders, tmp_path: Path):
    (tmp_path / "secret").write_text("x")
    (folders.input / "link").symlink_to(tmp_path / "secret")

    with pytest.raises(OutsideFolder):
        folders.find_upload("link")


@pytest.mark.parametrize(
    ("name", "path"),
    [("cat.png", "input/cat.png"), ("pets/cat.png", "input/pets/cat.png"), ("cat.png [output]", "output/cat.png")],
)
def test_names_are_found_where_they_say(folders: Folders, name: str, path: str):
    assert folders.find_upload(name) == folders.root / path


def test_numbers_go_on_from_the_highest_of_the_prefix(folders: Folders):
    for name in ("a_00002_.png", "a_00011_.webp", "ab_00040_.png", "a_x.png"):
        (folders.output / name).touch()

    assert folders.place_for("a").name("png") == "a_00012_.png"
    assert folders.place_for("%width%x%height%/a", width=3, height=4).subfolder == "3x4"


def test_a_prefix_that_leads_out_is_refused_when_it_is_saved(folders: Folders):
    with pytest.raises(Exception, match="outside the output folder"):
        folders.place_for("../../x")
