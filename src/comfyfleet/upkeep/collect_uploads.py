"""Uploads that were announced and never came, and objects of deleted files."""

import structlog

from comfyfleet import storage
from comfyfleet.house import House
from comfyfleet.kernel.errors import FleetError
from comfyfleet.kernel.ids import FileId
from comfyfleet.storage import File

NAME = "collect_uploads"
EVERY_S = 300.0
BATCH = 50
# Longer than any signed request lives: an object that is erased earlier could be created anew.
AGE_S = 86_400.0 + 3_600.0

log = structlog.get_logger()


async def tick(house: House, pool: str) -> int:
    """Mark, erase, forget. The store is asked while no transaction is open; erasing twice is fine."""
    async with house.pool_tx(pool) as tx:
        await storage.abandon_uploads(tx, age_s=AGE_S, rows=BATCH)
        deleted = await storage.list_long_deleted(tx, house.store.disk, age_s=AGE_S, rows=BATCH)
    erased = [each.id for each in deleted if await erase(house, each)]
    async with house.pool_tx(pool) as tx:
        return await storage.forget_files(tx, erased)


async def erase(house: House, file: File) -> bool:
    try:
        await storage.erase_object(house.store, file)
    except FleetError as problem:
        # It stays in the books, and is tried again; the others go on.
        log.warning("upkeep.object_stays", file_id=str(FileId(file.id)), problem=problem.message)
        return False
    return True
