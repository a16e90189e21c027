"""Jobs from order to result: a real control plane, a real engine, a real worker."""

import asyncio
import io
from pathlib import Path

from PIL import Image

from tests.engines import an_engine
from tests.made_media import a_picture
from tests.worker.plant import Plant
from tests.worker.workers import a_worker, eventually


async def test_a_still_and_a_picture_made_of_a_picture(plant: Plant, tmp_path: Path) -> None:
    picture = a_picture()
    async with an_engine(tmp_path / "engine") as engine, a_worker(plant, tmp_path / "home", engine.url):
        video = await asyncio.to_thread(plant.upload, picture)
        still = await asyncio.to_thread(plant.order, "draw")
        turned = await asyncio.to_thread(plant.order, "invert", video_id=video)
        assert await asyncio.to_thread(plant.ends, still) == "completed"
        assert await asyncio.to_thread(plant.ends, turned) == "completed"
        made = await asyncio.to_thread(plant.output, turned)
        assert plant.spent(still) == plant.spent(turned) == 1
        assert plant.dispatch(turned)["provider_job_id"]
        await eventually(lambda: not engine.engine.history.all(), "its history is clean")
    before, after = Image.open(io.BytesIO(picture)).convert("RGB"), Image.open(io.BytesIO(made)).convert("RGB")
    assert after.size == before.size
    assert after.getpixel((3, 3)) == tuple(255 - value for value in before.getpixel((3, 3)))
    assert list((tmp_path / "home").rglob("journal/*.json")) == []
    assert list((tmp_path / "home").glob("workers/*/jobs/*")) == []
