"""Waiting rows, written by the database itself: a million in seconds. The columns are those `enqueue` fills."""

import hashlib
from dataclasses import dataclass
from uuid import UUID

import psycopg

from comfyfleet.kernel.ids import LaneId, WorkflowId

COLUMNS = """id, tenant_id, tenant_job_id, pool, workflow_id, provider, lane, status, priority, fair_tag, seq, attempts,
 max_attempts, releases, max_releases, epoch, run_deadline_s, queued_at, queue_deadline_at, created_at"""
WORKFLOWS = """INSERT INTO workflows (id, slug, name, is_active, version, structure_hash, properties,
 comfyui_workflow_path, provider, expected_s, created_at)
SELECT md5('workflow' || n)::uuid, 'workflow-' || n, 'Bench', true, 1, 'structure-' || n, '[]', 'none', 'self_hosted',
 1, now()
FROM generate_series({first}, {last}) n ON CONFLICT DO NOTHING"""
LANES = """INSERT INTO lanes (workflow_id, structure_hash, provider, priority)
SELECT md5('workflow' || n)::uuid, 'structure-' || n, 'self_hosted', {priority}
FROM generate_series({first}, {last}) n ON CONFLICT DO NOTHING"""
# Ids grow with time, as UUIDv7 do. Rows go round the lanes, and round the tenants.
ROWS = """INSERT INTO ai_job_dispatches ({columns})
SELECT r.id, md5('tenant' || n % {tenants})::uuid, r.id, 'main', l.workflow_id, l.provider, l.id, 'queued', l.priority,
 n, n, 0, 3, 0, 20, 0, 3600, now(), now() + interval '1 day', now()
FROM generate_series({first}, {last}) n
CROSS JOIN LATERAL (SELECT (lpad(to_hex(n), 12, '0') || '70008000' || substr(md5(n::text), 1, 12))::uuid AS id) r
JOIN (SELECT *, row_number() OVER (ORDER BY id) - 1 AS place FROM lanes WHERE id = ANY('{{{lanes}}}')) l
 ON l.place = n % {lane_count}"""
PAYLOADS = """INSERT INTO dispatch_payloads (dispatch_id, payload)
SELECT id, '{{"graph": 1}}' FROM ai_job_dispatches WHERE seq BETWEEN {first} AND {last}"""


@dataclass
class Stock:
    """The waiting rows of one PostgreSQL database, kept at their number between measurements."""

    url: str
    tenants: int = 1
    written: int = 0

    def lanes(self, count: int, *, priority: int = 0, first: int = 0) -> list[LaneId]:
        with psycopg.connect(self.url, autocommit=True) as connection:
            _run(connection, WORKFLOWS.format(first=first, last=first + count - 1))
            _run(connection, LANES.format(priority=priority, first=first, last=first + count - 1))
            named = [workflow_id(number) for number in range(first, first + count)]
            query = "SELECT id FROM lanes WHERE workflow_id = ANY(%s) AND priority = %s ORDER BY id"
            return [LaneId(row[0]) for row in connection.execute(query, (named, priority))]

    def add(self, rows: int, lanes: list[LaneId], *, settle: bool = False) -> None:
        first, last = self.written + 1, self.written + rows
        self.written = last
        listed = ",".join(str(lane) for lane in lanes)
        with psycopg.connect(self.url, autocommit=True) as connection:
            facts = {"first": first, "last": last, "lanes": listed, "lane_count": len(lanes), "tenants": self.tenants}
            _run(connection, ROWS.format(columns=COLUMNS, **facts))
            _run(connection, PAYLOADS.format(first=first, last=last))
            if settle:
                for table in ("ai_job_dispatches", "dispatch_payloads", "lanes"):
                    _run(connection, f"VACUUM ANALYZE {table}")

    def refill(self, waiting: int, lanes: list[LaneId]) -> None:
        with psycopg.connect(self.url, autocommit=True) as connection:
            query = "SELECT count(*) FROM ai_job_dispatches WHERE status = 'queued' AND lane = ANY(%s)"
            found = connection.execute(query, (lanes,)).fetchone()
        missing = waiting - (found[0] if found else 0)
        if missing > 0:
            self.add(missing, lanes)


def _run(connection: "psycopg.Connection[tuple[object, ...]]", statement: str) -> None:
    connection.execute(statement.encode())


def workflow_id(number: int) -> WorkflowId:
    """As `md5('workflow' || n)::uuid` makes it."""
    return WorkflowId(UUID(bytes=hashlib.md5(f"workflow{number}".encode(), usedforsecurity=False).digest()))
