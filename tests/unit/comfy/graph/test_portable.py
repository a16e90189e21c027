"""Definitions that servers of one version share, and what a stranger may send in their name."""

import gzip
import hashlib
import json
from typing import Any

import pytest

from comfyfleet.comfy.graph import Definitions, find_definition, pack_definitions, unpack_definitions
from comfyfleet.kernel.errors import InvalidInput
from tests.unit.comfy.graph.graphs import object_info


def packed(*servers: dict[str, Any]) -> Definitions:
    found = pack_definitions(servers)
    assert found is not None
    return found


def with_files(*names: str) -> dict[str, Any]:
    """The recorded server with other uploads and other weights."""
    found: dict[str, Any] = json.loads(json.dumps(object_info()))
    found["LoadImage"]["input"]["required"]["image"][0] = list(names)
    found["CheckpointLoaderSimple"]["input"]["required"]["ckpt_name"][0] = [f"{name}.safetensors" for name in names]
    return found


def test_an_upload_or_a_new_weight_is_no_new_definition_and_another_choice_is() -> None:
    first, second = with_files("a.png"), with_files("b.png", "c.png")
    assert packed(first) == packed(second)
    second["KSampler"]["input"]["required"]["steps"][1]["max"] = 7
    assert packed(first).digest != packed(second).digest


def test_what_comes_back_says_what_converting_and_ranges_need() -> None:
    found = unpack_definitions(packed(object_info()).packed, digest=packed(object_info()).digest)
    assert found.keys() == object_info().keys()
    for name in ("KSampler", "SaveVideo", "LoadImage"):
        mine, theirs = find_definition(found, name), find_definition(object_info(), name)
        assert mine is not None
        assert theirs is not None
        assert [(each.name, each.type) for each in mine.inputs] == [(each.name, each.type) for each in theirs.inputs]
    sampler = find_definition(found, "KSampler")
    assert sampler is not None
    assert next(each.choices for each in sampler.inputs if each.name == "sampler_name")


def test_several_servers_report_what_they_have_in_common() -> None:
    less = {name: each for name, each in object_info().items() if name != "SaveImage"}
    found = packed(object_info(), less)
    assert "SaveImage" not in unpack_definitions(found.packed, digest=found.digest)
    assert pack_definitions([]) is None


def bad(plain: bytes) -> tuple[bytes, str]:
    return gzip.compress(plain), hashlib.sha256(plain).hexdigest()


@pytest.mark.parametrize(
    ("sent", "said"),
    [
        ((b"not gzip", "0" * 64), "is not gzip"),
        ((gzip.compress(b"{}"), "0" * 64), "not what the digest names"),
        ((gzip.compress(b"{}")[:-9], hashlib.sha256(b"{}").hexdigest()), "breaks off"),
        (bad(b"[1, 2]"), "not what GET /object_info answers"),
        (bad(b'{"A": 5}'), "not what GET /object_info answers"),
        (bad(b"{"), "is not JSON"),
        (bad(b"[" * 200_000), "is not JSON"),
        (bad(json.dumps({str(each): {"input": {}} for each in range(20_001)}).encode()), "20001 node classes"),
    ],
)
def test_what_is_no_definitions_is_refused(sent: tuple[bytes, str], said: str) -> None:
    with pytest.raises(InvalidInput, match=said):
        unpack_definitions(sent[0], digest=sent[1])


def test_a_bomb_is_read_no_further_than_its_limit() -> None:
    bomb = gzip.compress(b" " * (65 * 1024**2))
    with pytest.raises(InvalidInput, match="holds more than"):
        unpack_definitions(bomb, digest="0" * 64)
