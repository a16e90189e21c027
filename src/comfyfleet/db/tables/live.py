"""Central: the processes of the control plane that pass live events to each other."""

import sqlalchemy as sa

from comfyfleet.db.tables.base import CENTRAL, id_column
from comfyfleet.db.types import UtcTime

replicas = sa.Table(
    "replicas",
    CENTRAL,
    id_column(),  # a new one with each start
    sa.Column("url", sa.Text(), nullable=False),
    sa.Column("started_at", UtcTime(), nullable=False),
    sa.Column("seen_at", UtcTime(), nullable=False),
)
