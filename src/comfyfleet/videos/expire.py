"""Retention: what nobody touched for long loses its files, and much later its row."""

from collections.abc import Sequence

from comfyfleet import storage
from comfyfleet.db import PoolTx
from comfyfleet.storage import File
from comfyfleet.videos import sql
from comfyfleet.videos.model import Video


async def list_aged(tx: PoolTx, *, age_s: float, rows: int) -> list[Video]:
    """Untouched for so long, the oldest first; held until the transaction ends."""
    return [Video.from_row(row) for row in await tx.all(sql.aged_videos(age_s=age_s, rows=rows))]


async def expire_videos(tx: PoolTx, videos: Sequence[Video]) -> tuple[int, list[File]]:
    """How many, and their files, marked deleted: erase the objects after the commit."""
    ids = [each.id for each in videos]
    expired = [Video.from_row(row) for row in await tx.all(sql.expire_videos(ids))] if ids else []
    files = [file_id for video in expired for file_id in video.file_ids]
    return len(expired), await storage.drop_files(tx, files)


async def forget_videos(tx: PoolTx, *, age_s: float, rows: int) -> int:
    """Expired so long ago that nobody asks any more."""
    return await tx.run(sql.forget_videos(age_s=age_s, rows=rows))
