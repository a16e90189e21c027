"""What each replica says of itself: its loops and its disks."""

import json
from collections.abc import Mapping

from comfyfleet.db import ControlTx
from comfyfleet.notifications import sql
from comfyfleet.notifications.model import ReplicaReport


async def write_report(
    tx: ControlTx, replica: str, *, loops: Mapping[str, tuple[float, float]], disks: Mapping[str, tuple[int, int]]
) -> None:
    await tx.run(sql.write_report(replica=replica, loops=json.dumps(loops), disks=json.dumps(disks)))


async def list_reports(tx: ControlTx) -> list[ReplicaReport]:
    return [
        ReplicaReport(row.replica, row.reported_ago_s, json.loads(row.loops), json.loads(row.disks))
        for row in await tx.all(sql.reports())
    ]
