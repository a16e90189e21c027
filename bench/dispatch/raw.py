"""The limit of one job a statement: pgbench on our tables, with our columns, indexes and writes."""

import asyncio
import os
import re
from dataclasses import dataclass
from pathlib import Path

from bench.dispatch.ground import Ground
from bench.dispatch.stock import Stock
from comfyfleet.kernel.ids import LaneId

CLIENTS, LANES = 16, 10
NOBODY = "00000000-0000-0000-0000-000000000000"
LEASE = """WITH lane AS MATERIALIZED (
 SELECT l.id FROM unnest('{{{lanes}}}'::int[]) AS l(id) CROSS JOIN LATERAL (
  SELECT j.priority, j.queued_at FROM ai_job_dispatches j WHERE j.status = 'queued' AND j.lane = l.id
  ORDER BY j.fair_tag, j.seq LIMIT 1) h ORDER BY h.priority DESC, h.queued_at LIMIT 1),
leased AS (UPDATE ai_job_dispatches SET status = 'leased', epoch = epoch + 1, attempts = attempts + 1,
  lease_hash = md5(id::text) || md5(random()::text), worker_id = md5('worker' || :client_id)::uuid, incarnation = 1,
  lease_expires_at = clock_timestamp() + interval '15 s', deadline_at = clock_timestamp() + interval '1 h',
  leased_at = clock_timestamp()
 WHERE id = ANY(ARRAY(SELECT j.id FROM ai_job_dispatches j WHERE j.status = 'queued' AND j.lane = (SELECT id FROM lane)
  ORDER BY j.fair_tag, j.seq LIMIT 1 FOR UPDATE SKIP LOCKED)) RETURNING id, epoch, lease_hash, worker_id),
attempt AS (INSERT INTO dispatch_attempts (dispatch_id, epoch, nonce, worker_id, incarnation, granted_at)
 SELECT id, epoch, substr(lease_hash, 1, 16), worker_id, 1, clock_timestamp() FROM leased)
SELECT coalesce(max(leased.id::text), '{nobody}') AS id, coalesce(max(epoch), 0) AS epoch,
 coalesce(max(lease_hash), '') AS hash, coalesce(length(max(p.payload::text)), 0) AS size
 FROM leased JOIN dispatch_payloads p ON p.dispatch_id = leased.id \\gset
"""
COMPLETE = """WITH done AS (UPDATE ai_job_dispatches SET status = 'completed', done_epoch = epoch,
  finished_at = clock_timestamp(),
  duration_seconds = EXTRACT(EPOCH FROM clock_timestamp() - leased_at)::float8,
  lease_hash = NULL, lease_expires_at = NULL, deadline_at = NULL
 WHERE id = :id AND epoch = :epoch AND lease_hash = :hash AND incarnation = 1 AND status = 'leased'
 RETURNING id, epoch, tenant_id, pool),
ended AS (UPDATE dispatch_attempts a SET ended_at = clock_timestamp(), reason = 'completed', request_digest = 'digest',
  answered_status = 'completed' FROM done WHERE a.dispatch_id = done.id AND a.epoch = done.epoch AND a.ended_at IS NULL)
INSERT INTO settlements (id, dispatch_id, tenant_id, pool, outcome, detail, tries, next_try_at, created_at)
 SELECT gen_random_uuid(), id, tenant_id, pool, 'completed', '{}', 0, clock_timestamp(), clock_timestamp() FROM done;
"""
RATE = re.compile(r"^tps = ([0-9.]+)", re.MULTILINE)


@dataclass
class RawDrain:
    stock: Stock
    lanes: list[LaneId]
    waiting: int

    @classmethod
    def prepare(cls, ground: Ground, waiting: int) -> "RawDrain":
        stock = Stock(ground.central("raw"))
        lanes = stock.lanes(LANES)
        stock.add(waiting, lanes, settle=True)
        return cls(stock, lanes, waiting)

    async def measure(self, ground: Ground, seconds: float) -> float:
        """Lease + complete a second, as pgbench counts them."""
        self.stock.refill(self.waiting, self.lanes)
        script = ground.folder / "lease_and_complete.sql"
        script.write_text(self._script())
        return await _pgbench(ground, script, seconds)

    def _script(self) -> str:
        lanes = ",".join(str(lane) for lane in self.lanes)
        # pgbench ends a statement only at a semicolon or \\gset; line ends inside it are blanks.
        return LEASE.format(lanes=lanes, nobody=NOBODY) + COMPLETE


async def _pgbench(ground: Ground, script: Path, seconds: float) -> float:
    arguments = ["-n", "-M", "prepared", "-c", str(CLIENTS), "-j", "2", "-T", str(max(1, round(seconds)))]
    process = await asyncio.create_subprocess_exec(
        str(ground.pgbench()),
        *arguments,
        "-f",
        str(script),
        "raw",
        env={
            **os.environ,
            "PGHOST": ground.socket_folder(),
            "PGUSER": "postgres",
            "PGOPTIONS": "-c plan_cache_mode=force_generic_plan",
        },
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    out, problems = await process.communicate()
    found = RATE.search(out.decode())
    if process.returncode or found is None:
        raise RuntimeError(f"pgbench failed: {problems.decode()[-2000:]}")
    return float(found[1])
