"""From a leased payload to the graph that is submitted."""

from datetime import date
from typing import Any

import msgspec
import pytest

from comfyfleet.comfy.errors import InvalidGraph
from comfyfleet.worker.prepare import NONCE, Mark, PayloadUnreadable, Work, mark_saves, prepare_graph, read_payload

MARK = Mark("0f4a1c1e-5d4e-5c3b-8a55-0d6f6a7e1b2c", date(2026, 11, 16))
FOLDER = "comfyfleet/2026-11-16/0f4a1c1e-5d4e-5c3b-8a55-0d6f6a7e1b2c"


def a_payload(**fields: Any) -> bytes:
    graph = {
        "1": {"class_type": "LoadImage", "inputs": {"image": ""}},
        "2": {"class_type": "SaveImage", "inputs": {"images": ["1", 0], "filename_prefix": "pets/cat"}},
    }
    asset = {
        "name": "picture",
        "path": "tenants/t/files/f",
        "media_type": "image/png",
        "size_bytes": 3,
        "content_hash": None,
        "is_primary_input": True,
        "targets": [{"node": "1", "input_name": "image"}],
        "url": "https://store/secret-signature",
    }
    whole = {"workflow": graph, "properties": {"seed": 1}, "assets": [asset], "output_node_id": "2", **fields}
    return msgspec.json.encode(whole)


def prefix_of(graph: dict[str, Any], node: str = "2") -> str:
    return str(graph[node]["inputs"]["filename_prefix"])


def test_files_go_in_by_the_servers_names_and_saves_get_a_place_of_their_own() -> None:
    work = read_payload(a_payload())
    graph = prepare_graph(work, {"picture": 'a "quoted" {{name}}.png'}, MARK)
    assert graph["1"]["inputs"] == {"image": 'a "quoted" {{name}}.png'}
    assert graph["2"]["inputs"] == {"images": ["1", 0], "filename_prefix": f"{FOLDER}/pets/cat"}
    assert work.output_node == "2"
    assert prefix_of(work.graph) == "pets/cat"  # the payload's own is as it was


def test_a_url_does_not_get_into_logs() -> None:
    assert "secret-signature" not in repr(read_payload(a_payload()))


@pytest.mark.parametrize(
    ("prefix", "placed"),
    [
        ("ComfyUI", "ComfyUI"),
        ("../../etc/passwd", "etc/passwd"),
        ("/absolute/x", "absolute/x"),
        ("C:\\temp\\x", "_/temp/x"),
        ("./..//", "SaveImage"),
        ("", "SaveImage"),
        (["7", 0], "SaveImage"),
        (None, "SaveImage"),
        ("%date:yyyy%/x", "%date:yyyy%/x"),
        ("x" * 500, "x" * 120),
    ],
)
def test_no_prefix_leaves_the_place(prefix: Any, placed: str) -> None:
    graph = {"2": {"class_type": "SaveImage", "inputs": {"filename_prefix": prefix}}}
    assert prefix_of(mark_saves(graph, MARK)) == f"{FOLDER}/{placed}"


def test_previews_are_made_anew_and_other_nodes_left_alone() -> None:
    graph = {
        "1": {"class_type": "PreviewImage", "inputs": {"images": ["9", 0]}},
        "2": {"class_type": "KSampler", "inputs": {"seed": 1}},
    }
    marked = mark_saves(graph, MARK)
    assert marked["1"]["inputs"] == {"images": ["9", 0], NONCE: MARK.nonce}
    assert marked["2"] == graph["2"]


@pytest.mark.parametrize(
    "payload",
    [
        b"{",
        b"[]",
        b'{"workflow": {}}',
        b'{"assets": []}',
        b'{"workflow": {"1": 5}}',
        b'{"workflow": {"1": {"class_type": "A", "inputs": []}}}',
        b'{"workflow": {"1": {"class_type": "A"}}, "assets": [{"name": "a", "url": 5}]}',
        b'{"workflow": {"1": {"class_type": "A"}}, "assets": [{"name": "a", "url": ""}, {"name": "a", "url": ""}]}',
    ],
)
def test_a_payload_that_is_none_is_refused_with_a_reason(payload: bytes) -> None:
    with pytest.raises(PayloadUnreadable, match="cannot be read: "):
        read_payload(payload)


def test_an_asset_for_a_node_that_is_not_there_is_named() -> None:
    work = read_payload(a_payload())
    other = Work(graph={"9": {"class_type": "SaveImage", "inputs": {}}}, assets=work.assets)
    with pytest.raises(InvalidGraph, match=r"node 1, input 'image'.*'picture'"):
        prepare_graph(other, {"picture": "x.png"}, MARK)


def test_a_mark_is_one_folder_name() -> None:
    with pytest.raises(ValueError, match="no name for a folder"):
        Mark("../x", date(2026, 11, 16))
