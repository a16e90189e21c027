"""An engine that nobody hits: what it makes of an order is what that order should have brought."""

import asyncio
import copy
import json
from collections.abc import Iterable
from io import BytesIO
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx2
from PIL import Image
from PIL.PngImagePlugin import PngImageFile, PngInfo

from tests.chaos.fleet.orders import GRAPHS, SAVES, Order, picture
from tests.engines import an_engine

Subject = tuple[str, int, int | None]
Right = dict[Subject, list[Image.Image]]


async def make_undisturbed(orders: Iterable[Order], folder: Path) -> Right:
    """The pictures of each subject, in the order of its save nodes."""
    subjects = {order.subject for order in orders}
    async with an_engine(folder) as engine, httpx2.AsyncClient(base_url=engine.url, timeout=60) as client:
        for number in {number for _, _, number in subjects if number is not None}:
            sent = await client.post("/upload/image", files={"image": (f"{number}.png", picture(number), "image/png")})
            assert sent.status_code == 200, sent.text
        return {subject: await _make(client, subject) for subject in sorted(subjects, key=str)}


async def _make(client: httpx2.AsyncClient, subject: Subject) -> list[Image.Image]:
    effect, colour, number = subject
    graph: dict[str, Any] = copy.deepcopy(GRAPHS[effect])
    graph["sleep"]["inputs"] |= {"seconds": 0.0, "seed": int(uuid4()) % 2**63}
    graph["colour"]["inputs"]["color"] = colour
    if number is not None:
        graph["load"]["inputs"]["image"] = f"{number}.png"
    posted = await client.post("/prompt", json={"prompt": graph})
    assert posted.status_code == 200, posted.text
    prompt_id = posted.json()["prompt_id"]
    while not (found := (await client.get(f"/history/{prompt_id}")).json()):  # noqa: ASYNC110 nobody tells
        await asyncio.sleep(0.002)
    files = [found[prompt_id]["outputs"][node]["images"][0] for node in SAVES[effect]]
    views = [await client.get("/view", params=each) for each in files]
    return [_decoded(each.content) for each in views]


def _decoded(content: bytes) -> Image.Image:
    found = Image.open(BytesIO(content))
    found.load()
    return found


def what_is_wrong(made: bytes, right: Image.Image, order: Order) -> str | None:
    """None: to the last byte. The graph that the engine wrote into it says whose it is, and is part of its bytes."""
    try:
        found = Image.open(BytesIO(made))
        found.load()
    except (OSError, SyntaxError) as problem:
        return f"{len(made)} bytes that are no picture: {problem}"
    assert isinstance(found, PngImageFile)
    graph = json.loads(found.text["prompt"])
    if graph["sleep"]["inputs"]["seed"] != order.number:
        return f"it is that of order {graph['sleep']['inputs']['seed']}"
    texts = PngInfo()
    for key, value in found.text.items():
        texts.add_text(key, value)
    again = BytesIO()
    right.save(again, "PNG", pnginfo=texts, compress_level=4)
    return None if again.getvalue() == made else "its pixels are not those of an engine that nobody disturbs"


def number_of(file: Path) -> int | None:
    """Of the order that a file on an engine's disk was made for. None: the engine was killed while it wrote it."""
    try:
        with Image.open(file) as found:
            assert isinstance(found, PngImageFile)
            found.load()
            return int(json.loads(found.text["prompt"])["sleep"]["inputs"]["seed"])
    except (OSError, SyntaxError):
        return None
