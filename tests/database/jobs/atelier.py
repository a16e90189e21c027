"""A world with an effect to order, and all that belongs to it: video, files, webhooks. Every step is one call, given
the house it happens in: what is not called has crashed, and a house may crash inside a call."""

import random
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

import sqlalchemy as sa

from comfyfleet import checks, dispatch, storage, videos, webhooks
from comfyfleet.api.tenant import ordering
from comfyfleet.api.tenant.ordering import Wanted
from comfyfleet.db.tables import ai_jobs, files, job_files, webhook_events
from comfyfleet.dispatch import Ended, FailureClass, Grant, Report
from comfyfleet.house import House
from comfyfleet.jobs import Job, Placed
from comfyfleet.kernel.ids import FileId, JobId
from comfyfleet.storage import ObjectKey, object_key
from comfyfleet.tenants import Home
from comfyfleet.upkeep import apply_settlements, relay_submissions, tell_starts
from comfyfleet.videos import Video
from comfyfleet.workflows.effects import Effect
from tests.api.ordering import an_effect
from tests.builders import Member, a_member, credit
from tests.database.dispatch.test_queue import SIGNER, Queue, proof
from tests.database.jobs.world import PRICE, World
from tests.database.videos.shelf import a_video, a_written_upload

RICH = 100_000
MADE_SHA256 = sha256(b"made").hexdigest()


@dataclass
class Atelier(World):
    effect: Effect = field(kw_only=True)
    video: Video = field(kw_only=True)

    @classmethod
    async def open(cls, house: House, *, member: Member | None = None, tokens: int = RICH) -> "Atelier":
        member, effect = member or await a_member(house), await an_effect(house)
        await credit(house, member.tenant, member.user, tokens)
        async with house.tenant_tx(member.tenant) as tx:
            await webhooks.add_endpoint(tx, url="https://example.com/hook")
        video = await a_video(house, member, media_type="image/png")
        return cls(house, member, Queue(house), pool=member.tenant.pool, effect=effect, video=video)

    @property
    def home(self) -> Home:
        tenant = self.member.tenant
        return Home(tenant.id, tenant.slug, tenant.pool, tenant.status)

    def wanted(self, key: str | None = None, **given: Any) -> Wanted:
        asked = {"properties": {"prompt": "a cat"}, "video_id": self.video.id, **given}
        return Wanted(self.home, self.member.user.id, self.effect.slug, idempotency_key=key, **asked)

    async def order(self, key: str | None = None, *, house: House | None = None, **given: Any) -> Placed:
        return await ordering.order(house or self.house, self.wanted(key, **given))

    async def cancel_order(self, job_id: JobId, *, house: House | None = None) -> Job:
        return await ordering.cancel(house or self.house, self.home, job_id, self.member.user.id)

    async def relay_in(self, house: House) -> int:
        return await relay_submissions.tick(house, self.pool)

    async def settle_in(self, house: House) -> int:
        await tell_starts.tick(house)
        return await apply_settlements.tick(house, self.pool, chance=random.Random(1))

    # ── a worker's part ──

    def folder(self, grant: Grant) -> str:
        return f"tenants/{self.member.tenant.id}/ai-jobs/{grant.dispatch_id}/{grant.epoch}-{grant.nonce}"

    async def upload(self, grant: Grant, name: str = "output-1.png", content: bytes = b"made") -> ObjectKey:
        key = object_key(*self.folder(grant).split("/"), name)
        await self.house.store.write(key, content, media_type="image/png")
        return key

    async def complete_with(self, grant: Grant, *keys: ObjectKey, house: House | None = None) -> Any:
        said = {"name": "out.png", "mime_type": "image/png", "size": 4, "sha256": MADE_SHA256}
        outputs = [{"path": key, **said} for key in keys]
        report = Report(proof(grant, self.holder), "d", detail={"outputs": outputs, "disk": self.house.store.disk})
        async with (house or self.house).control_tx() as tx:
            return (await dispatch.complete_dispatches(tx, [report], signer=SIGNER))[grant.dispatch_id]

    async def fail_in(self, house: House, grant: Grant) -> Any:
        report = Report(proof(grant, self.holder), "f", failure=FailureClass.USER_INPUT, error="it broke")
        rules = self.house.queue_rules
        async with house.control_tx() as tx:
            return await dispatch.fail_dispatch(tx, report, signer=SIGNER, rules=rules, chance=0.5)

    async def delivered(self, key: str | None = None, **given: Any) -> JobId:
        placed = await self.order(key, **given)
        await self.relay()
        grant = await self.lease()
        assert isinstance(await self.complete_with(grant, await self.upload(grant)), Ended)
        await self.settle()
        return placed.job.id

    async def failed_order(self) -> JobId:
        placed = await self.order()
        await self.relay()
        await self.fail_in(self.house, await self.lease())
        await self.settle()
        return placed.job.id

    # ── what came of it ──

    async def rows(self, table: sa.Table, **values: Any) -> list[Any]:
        async with self.house.pool(self.pool).engine.connect() as connection:
            same = [table.c[name] == value for name, value in values.items()]
            return list(await connection.execute(sa.select(*table.c).where(*same)))

    async def jobs_of_key(self, key: str) -> list[Any]:
        return await self.rows(ai_jobs, idempotency_key=key)

    async def events_of(self, job_id: JobId) -> list[str]:
        return sorted(row.event_type for row in await self.rows(webhook_events, subject_id=job_id))

    async def outputs_of(self, job_id: JobId) -> list[FileId]:
        return [row.file_id for row in await self.rows(job_files, job_id=job_id, role="output")]

    async def stored_paths(self) -> set[str]:
        return {row.path for row in await self.rows(files, status="stored")}

    async def video_now(self) -> Video:
        async with self.house.tenant_tx(self.member.tenant, read_only=True) as tx:
            return await videos.read_video(tx, self.video.id, self.member.user.id)

    async def a_mask(self) -> FileId:
        file = await a_written_upload(self.house, self.member, "mask.png", "image/png")
        async with self.house.tenant_tx(self.member.tenant) as tx:
            return (await storage.confirm_upload(tx, file.id, self.member.user.id)).id

    async def broken(self) -> list[tuple[str, Any]]:
        """What `comfyfleet audit` would say."""
        return [(each.code, each.rows) for each in await checks.check_everything(self.house) if each.state != "ok"]


__all__ = ["PRICE", "RICH", "Atelier"]
