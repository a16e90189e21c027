"""What may happen to a video. It follows the last job that was started for it."""

from enum import StrEnum

from comfyfleet.kernel.lifecycle import Lifecycle


class VideoStatus(StrEnum):
    UPLOADED = "uploaded"
    PROCESSING = "processing"
    COMPLETED = "completed"
    FAILED = "failed"
    EXPIRED = "expired"


class VideoEvent(StrEnum):
    START = "start"
    COMPLETE = "complete"
    FAIL = "fail"
    EXPIRE = "expire"


U, P, C, F = VideoStatus.UPLOADED, VideoStatus.PROCESSING, VideoStatus.COMPLETED, VideoStatus.FAILED

VIDEO = Lifecycle(
    "video",
    initial=U,
    moves={
        (U, VideoEvent.START): P,
        # Another job for the same video: from now on it follows that one.
        (P, VideoEvent.START): P,
        (C, VideoEvent.START): P,
        (F, VideoEvent.START): P,
        (P, VideoEvent.COMPLETE): C,
        (P, VideoEvent.FAIL): F,
        (U, VideoEvent.EXPIRE): VideoStatus.EXPIRED,
        (C, VideoEvent.EXPIRE): VideoStatus.EXPIRED,
        (F, VideoEvent.EXPIRE): VideoStatus.EXPIRED,
    },
)
# While a job has it, its file is wanted: whoever wants it gone cancels the job first.
REMOVABLE = [*VIDEO.sources(VideoEvent.EXPIRE), VideoStatus.EXPIRED]
