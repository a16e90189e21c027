"""Videos: what users upload and what they get back, stills included. Bytes and URLs are `storage`'s."""

from comfyfleet.videos.announce import check_announced
from comfyfleet.videos.create import create_video, make_video
from comfyfleet.videos.expire import expire_videos, forget_videos, list_aged
from comfyfleet.videos.lifecycle import VideoEvent, VideoStatus
from comfyfleet.videos.model import TITLE_CHARS_MAX, NewVideo, Video
from comfyfleet.videos.process import complete_video, fail_video, start_processing
from comfyfleet.videos.read import find_video, list_videos, read_input, read_video
from comfyfleet.videos.remove import delete_video

__all__ = [
    "TITLE_CHARS_MAX",
    "NewVideo",
    "Video",
    "VideoEvent",
    "VideoStatus",
    "check_announced",
    "complete_video",
    "create_video",
    "delete_video",
    "expire_videos",
    "fail_video",
    "find_video",
    "forget_videos",
    "list_aged",
    "list_videos",
    "make_video",
    "read_input",
    "read_video",
    "start_processing",
]
