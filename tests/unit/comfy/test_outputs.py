"""Every file of every output node, under any key; nothing dropped."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from comfyfleet.comfy.model import FetchedFile, OutputFile
from comfyfleet.comfy.outputs import list_outputs, local_name, local_names, manifest, media_type_of
from tests.recordings import exchanges
from tests.unit.comfy.test_answers import EXAMPLES
from tests.unit.comfy.test_frames import ANY_JSON


def test_every_file_of_every_recorded_history_is_listed() -> None:
    keys = set()
    for entry in exchanges("GET", "/history", status=200):
        for history in (entry["response"].get("json") or {}).values():
            listed = list_outputs(history["outputs"])
            files = {(o.node, o.key, o.filename, o.subfolder, o.type) for o in listed if o.text is None}
            for node, ui in history["outputs"].items():
                for key, values in ui.items():
                    for value in values:
                        if isinstance(value, dict) and "filename" in value:
                            keys.add(key)
                            assert (node, key, value["filename"], value["subfolder"], value["type"]) in files
    assert {"images", "audio", "latents"} <= keys


def test_films_under_images_are_told_by_their_extension() -> None:
    ui = {"images": [{"filename": "a.mp4", "subfolder": "video", "type": "output"}], "animated": [True]}
    assert list_outputs({"1": ui}) == (OutputFile("1", "images", "a.mp4", "video", "output", "video/mp4"),)


def test_keys_of_custom_nodes_are_as_good_as_any() -> None:
    outputs = {
        "1": {"gifs": [{"filename": "a.bin", "format": "video/h264-mp4", "type": "temp"}]},
        "2": {"videos": [{"filename": "b.webm"}], "3d": [{"filename": "c.glb"}], "files": [{"filename": "d.zip"}]},
        "3": {"whatever": {"filename": "e.png"}},
    }
    listed = {o.filename: (o.key, o.type, o.media_type) for o in list_outputs(outputs)}
    assert listed == {
        "a.bin": ("gifs", "temp", "application/octet-stream"),
        "b.webm": ("videos", "output", "video/webm"),
        "c.glb": ("3d", "output", "model/gltf-binary"),
        "d.zip": ("files", "output", "application/zip"),
        "e.png": ("whatever", "output", "image/png"),
    }


def test_words_and_values_are_entries_too() -> None:
    first, second, third = list_outputs({"5": {"text": ["hello", ""], "result": [{"camera": 1}]}})
    assert (first.filename, first.type, first.media_type, first.text) == ("5-text-0.txt", "text", "text/plain", "hello")
    assert second.text == ""
    assert (third.filename, third.media_type, third.text) == ("5-result-0.json", "application/json", '{"camera": 1}')


def test_without_a_chosen_node_the_lowest_id_is_first_whatever_the_server_says() -> None:
    """A history's order is which node ended first: the same graph must not have another result tomorrow."""
    ids = ["12:10", "100", "12:3", "9", "10", "a", "12", "9.0.1"]
    saved = {node: {"images": [{"filename": f"{place}.png", "type": "output"}]} for place, node in enumerate(ids)}
    for order in (ids, sorted(ids), ids[::-1]):
        listed = [each.node for each in list_outputs({node: saved[node] for node in order})]
        assert listed == ["9", "9.0.1", "10", "12", "12:3", "12:10", "100", "a"]


def test_the_chosen_node_comes_first_and_saved_files_before_temporary_ones() -> None:
    outputs = {
        "1": {"images": [{"filename": "temp.png", "type": "temp"}]},
        "2": {"images": [{"filename": "other.png", "type": "output"}]},
        "9": {"text": ["words"], "images": [{"filename": "p.png", "type": "temp"}, {"filename": "s.png"}]},
    }
    names = [o.filename for o in list_outputs(outputs, first="9")]
    assert names == ["s.png", "p.png", "9-text-0.txt", "other.png", "temp.png"]
    assert [o.filename for o in list_outputs(outputs)][:2] == ["other.png", "s.png"]


@pytest.mark.parametrize(
    ("name", "local"),
    [
        ("../../etc/passwd", "_.._etc_passwd"),
        ("/abs.png", "_abs.png"),
        ("..", "output"),
        (".hidden", "hidden"),
        ("a\x00b\nc.png", "a_b_c.png"),
        ("C:\\x.png", "C_x.png"),
        ("ünï (1).png", "ünï (1).png"),
    ],
)
def test_a_servers_name_cannot_leave_our_folder(name: str, local: str) -> None:
    assert local_name(OutputFile("1", "images", name)) == local


def test_a_long_name_keeps_its_extension() -> None:
    assert local_name(OutputFile("1", "images", "x" * 5000 + ".png")) == "x" * 196 + ".png"


def test_equal_names_are_told_apart() -> None:
    files = [OutputFile("1", "images", "a.png", folder) for folder in ("", "x", "y")] + [OutputFile("2", "f", "A.PNG")]
    assert list(local_names(files).values()) == ["a.png", "a-2.png", "a-3.png", "A-4.PNG"]


def test_media_types() -> None:
    assert media_type_of("a.OPUS") == "audio/ogg"
    assert media_type_of("noextension", told="video/mp4") == "video/mp4"
    assert media_type_of("noextension", told="text/html\r\nX: y") == "application/octet-stream"


def test_the_manifest_holds_every_fact() -> None:
    output = OutputFile("9", "images", "a.png", "sub", "temp", "image/png")
    assert manifest([FetchedFile(output, Path("/out/a.png"), 3, "ab")]) == [
        {
            "node": "9",
            "key": "images",
            "filename": "a.png",
            "subfolder": "sub",
            "type": "temp",
            "media_type": "image/png",
            "path": "a.png",
            "bytes": 3,
            "sha256": "ab",
        }
    ]


@settings(max_examples=EXAMPLES, deadline=None)
@given(st.dictionaries(st.text(max_size=3), st.dictionaries(st.text(max_size=3), ANY_JSON, max_size=3), max_size=3))
def test_nothing_but_flags_and_nulls_is_dropped(outputs: dict[str, dict[str, object]]) -> None:
    parts = sum(
        part is not None
        for ui in outputs.values()
        for key, value in ui.items()
        if key != "animated"
        for part in (value if isinstance(value, list) else [value])
    )
    listed = list_outputs(outputs)
    assert len(listed) == parts
    assert len(set(local_names(listed).values())) == len(set(listed))
