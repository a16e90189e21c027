"""Videos: a user's media, stills included. Bytes are files; this says what they are and what became of them."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Self

from comfyfleet.kernel.ids import FileId, JobId, TenantId, UserId, VideoId
from comfyfleet.videos.lifecycle import VideoStatus

TITLE_CHARS_MAX = 255


@dataclass(frozen=True, slots=True)
class NewVideo:
    """An upload that was looked at, and found good."""

    user_id: UserId
    title: str
    original_file_id: FileId
    poster_file_id: FileId
    media_type: str
    width: int
    height: int
    duration_s: float | None


@dataclass(frozen=True, slots=True)
class Video:
    """`job_id` is the last job started for it. Width, height and duration are the upload's."""

    id: VideoId
    tenant_id: TenantId
    user_id: UserId
    title: str
    status: VideoStatus
    job_id: JobId | None
    original_file_id: FileId | None
    processed_file_id: FileId | None
    poster_file_id: FileId | None
    media_type: str | None
    width: int | None
    height: int | None
    duration_s: float | None
    processing_details: dict[str, Any]
    created_at: datetime
    updated_at: datetime

    @property
    def error(self) -> str | None:
        found = self.processing_details.get("error")
        return str(found) if found is not None else None

    @property
    def file_ids(self) -> list[FileId]:
        return [each for each in (self.original_file_id, self.processed_file_id, self.poster_file_id) if each]

    @classmethod
    def from_row(cls, row: Any) -> Self:
        return cls(
            id=row.id,
            tenant_id=row.tenant_id,
            user_id=row.user_id,
            title=row.title,
            status=VideoStatus(row.status),
            job_id=row.job_id,
            original_file_id=row.original_file_id,
            processed_file_id=row.processed_file_id,
            poster_file_id=row.poster_file_id,
            media_type=row.mime_type,
            width=row.width,
            height=row.height,
            duration_s=row.duration_seconds,
            processing_details=row.processing_details or {},
            created_at=row.created_at,
            updated_at=row.updated_at,
        )
