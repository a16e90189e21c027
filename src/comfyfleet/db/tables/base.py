"""What every table shares: names of constraints that migrations can rely on, and a few columns."""

from collections.abc import Iterable

import sqlalchemy as sa

from comfyfleet.db.types import UtcTime

NAMES = {
    "pk": "pk_%(table_name)s",
    "fk": "fk_%(table_name)s_%(column_0_name)s",
    "uq": "uq_%(table_name)s_%(column_0_N_name)s",
    "ck": "ck_%(table_name)s_%(constraint_name)s",
    "ix": "ix_%(table_name)s_%(column_0_N_name)s",
}

CENTRAL = sa.MetaData(naming_convention=NAMES)
TENANT = sa.MetaData(naming_convention=NAMES)


def id_column() -> sa.Column[object]:
    return sa.Column("id", sa.Uuid(), primary_key=True)


def created_at() -> sa.Column[object]:
    return sa.Column("created_at", UtcTime(), nullable=False)


def one_of(column: str, values: Iterable[str]) -> sa.CheckConstraint:
    listed = ", ".join(f"'{value}'" for value in values)
    return sa.CheckConstraint(f"{column} IN ({listed})", name=column)
