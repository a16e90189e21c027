"""What runs make, in a folder: under the names that people know, whole, once, and mended where it was broken."""

from pathlib import Path

import pytest

from comfyfleet import storage
from comfyfleet.house import House
from comfyfleet.kernel.ids import RunId
from comfyfleet.storage import ObjectKey
from comfyfleet.upkeep import mirror_candidates
from comfyfleet.upkeep.mirror_candidates import Mirror, MirrorUnwritable
from tests.database.pipelines.studio import Studio


async def make(studio: Studio, run_id: RunId) -> None:
    await studio.advance()
    for row in await studio.under_way(run_id):
        key = ObjectKey(f"tenants/{studio.member.tenant.id}/ai-jobs/{row.job_id}/1-x/0")
        content = f"picture {row.ordinal}".encode()
        await studio.house.store.write(key, content, media_type="image/png")
        await studio.complete(row.job_id, size_bytes=len(content))


def files_in(folder: Path) -> dict[str, bytes]:
    found = (path for path in folder.rglob("*") if path.is_file() and not path.name.startswith("."))
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in found}


async def test_pictures_are_copied_once_and_mended(house: House, tmp_path: Path) -> None:
    studio = await Studio.open(house)
    run_id = await studio.start(variants=2, concurrency=2, target_folder="gym/november")
    await make(studio, run_id)
    mirror = Mirror(house, "main", tmp_path / "mirror")
    assert await mirror.tick() == 0, "nothing is left to do"
    names = [
        f"{studio.member.tenant.slug}/gym/november/base/{each.id}_{each.created_at:%Y%m%d%H%M%S}.png"
        for each in await studio.candidates(run_id)
    ]
    assert sorted(files_in(mirror.folder)) == sorted(names)
    assert sorted(files_in(mirror.folder).values()) == [b"picture 0", b"picture 1"]
    first, second = (mirror.folder / name for name in names)
    written = second.stat().st_mtime_ns
    first.write_bytes(b"half")
    # Another process, which knows only what stands in the folder.
    await Mirror(house, "main", mirror.folder).tick()
    assert sorted(files_in(mirror.folder).values()) == [b"picture 0", b"picture 1"]
    assert second.stat().st_mtime_ns == written


async def test_what_is_gone_from_the_store_holds_nobody_up(house: House, tmp_path: Path) -> None:
    studio = await Studio.open(house)
    run_id = await studio.start(variants=2, concurrency=2)
    await make(studio, run_id)
    lost, _ = await studio.candidates(run_id)
    async with house.tenant_tx(studio.member.tenant) as tx:
        await storage.delete_files(tx, [lost.file_id], studio.member.user.id)
    await Mirror(house, "main", tmp_path / "mirror").tick()
    assert len(files_in(tmp_path / "mirror")) == 1


async def test_large_pictures_come_piece_by_piece_and_many_in_batches(
    house: House, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mirror_candidates, "PIECE_BYTES", 4)
    monkeypatch.setattr(mirror_candidates, "BATCH", 1)
    studio = await Studio.open(house)
    await make(studio, await studio.start(variants=2, concurrency=2))
    mirror = Mirror(house, "main", tmp_path / "mirror")
    assert [await mirror.tick() for _ in range(3)] == [1, 1, 0]
    assert sorted(files_in(mirror.folder).values()) == [b"picture 0", b"picture 1"]


async def test_a_folder_that_cannot_be_written_is_said(house: House, tmp_path: Path) -> None:
    (tmp_path / "mirror").write_text("no folder")
    with pytest.raises(MirrorUnwritable, match="mirror"):
        await Mirror(house, "main", tmp_path / "mirror").tick()
