"""The recordings in the order they were made: most of them by one server, whose history and files grew on the way."""

import asyncio
import tempfile
from collections.abc import Sequence
from pathlib import Path

from PIL import Image

from comfyfleet.engine.engine import Engine
from comfyfleet.engine.nodes import NODES
from comfyfleet.engine.server import serve_here
from tools.conformance.normal import Side
from tools.conformance.replay import Findings, Place, Replay
from tools.conformance.standins import Pace, build_stand_ins
from tools.conformance.unsupported import RECORDINGS

FOLDER = Path(__file__).parents[2] / "tests" / "recordings" / "v0.33.0"
ONE_SERVER = (
    "a1_success_image_nodes",
    "a2_success_ksampler_previews",
    "a3_feature_flags_and_preview_metadata",
    "b1_cached_resubmission",
    "c1_validation_errors",
    "d1_execution_errors",
    "e1_interrupt",
)
# What came between is not replayed, so the second half starts afresh.
ITS_SECOND_HALF = (
    "f1_queue_and_history_ops",
    "g1_ws_disconnect_reconnect",
    "h1_uploads_and_view_paths",
    "k1_output_kinds",
    "l1_submit_options",
    "i1_endpoints",
)

# Files of servers that ran before in the same folder: numbers go on from them.
LEFT_BEHIND = {"n1_cache_flag_cache_ram": ("n1a_00007_.png", "n1b_00003_.png")}


def all_series() -> list[tuple[str, ...]]:
    """Every recording there is, but for those that are unsupported as a whole."""
    others = sorted(path.stem for path in FOLDER.glob("*.jsonl") if path.stem not in ONE_SERVER + ITS_SECOND_HALF)
    return [ONE_SERVER, ITS_SECOND_HALF, *((name,) for name in others if name not in RECORDINGS)]


async def run_all(only: Sequence[str] = ()) -> dict[str, Findings]:
    """Each series has an engine of its own, and all run at once: a replay mostly waits."""
    wanted = [
        [name for name in series if not only or name in only or name.split("_")[0] in only] for series in all_series()
    ]
    found = await asyncio.gather(*(run_series(series) for series in wanted if series))
    return {name: findings for series in found for name, findings in series.items()}


async def run_series(recordings: Sequence[str]) -> dict[str, Findings]:
    pace = Pace()
    found = {}
    with tempfile.TemporaryDirectory(prefix="conformance-") as above:
        folder = _furnish(Path(above), LEFT_BEHIND.get(recordings[0], ()))
        stand_ins = list(build_stand_ins(FOLDER / "object_info_core_nodes.json", pace))
        engine = Engine(folder, nodes=[*NODES, *stand_ins])
        async with serve_here(engine) as url:
            recorded, own = Side(""), Side(str(engine.folders.root.parents[1]))
            for name in recordings:
                path = FOLDER / f"{name}.jsonl"
                place = Place(url, engine.folders.root, engine.registry, pace, recorded, own)
                found[name] = await Replay(name, path, place).run()
    return found


def _furnish(above: Path, left_behind: Sequence[str]) -> Path:
    """A folder as deep as the real server's, with what stood there from the start."""
    folder = above / "comfy" / "ComfyUI"
    (folder / "input").mkdir(parents=True)
    (folder / "output").mkdir()
    for name in left_behind:
        (folder / "output" / name).touch()
    Image.new("RGBA", (32, 32), (200, 30, 30, 128)).save(folder / "input" / "example.png")
    (folder / "input" / "corrupt.png").write_bytes(b"not a picture")
    return folder
