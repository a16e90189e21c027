"""Column types that mean the same on both engines."""

from datetime import UTC, datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql
from sqlalchemy.engine import Dialect
from sqlalchemy.types import TypeDecorator, TypeEngine

SQLITE_TIME_FORMAT = "%Y-%m-%dT%H:%M:%S.%fZ"


class UtcTime(TypeDecorator[datetime]):
    """An instant in UTC. On SQLite a fixed-width ISO text, so that order by text is order by time."""

    impl = sa.DateTime(timezone=True)
    cache_ok = True

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[Any]:
        if dialect.name == "sqlite":
            return dialect.type_descriptor(sa.Text())
        return dialect.type_descriptor(sa.DateTime(timezone=True))

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> Any:
        if value is None:
            return None
        if value.tzinfo is None:
            raise ValueError(f"{value!r} has no time zone")
        value = value.astimezone(UTC)
        return value.strftime(SQLITE_TIME_FORMAT) if dialect.name == "sqlite" else value

    def process_result_value(self, value: Any, dialect: Dialect) -> datetime | None:
        if value is None:
            return None
        if isinstance(value, str):
            return datetime.strptime(value, SQLITE_TIME_FORMAT).replace(tzinfo=UTC)
        found: datetime = value.astimezone(UTC)
        return found


class TimeAsFound(UtcTime):
    """For reading what somebody may have written nonsense over: that becomes a time which no row has."""

    cache_ok = True
    NEVER = datetime.min.replace(tzinfo=UTC)

    def process_result_value(self, value: Any, dialect: Dialect) -> datetime | None:
        try:
            return super().process_result_value(value, dialect) or self.NEVER
        except ValueError:
            return self.NEVER


Json = sa.JSON().with_variant(postgresql.JSONB(), "postgresql")
