"""Which uploads may come at all: said before a byte is sent."""

from comfyfleet.kernel.errors import InvalidInput
from comfyfleet.media.model import MEDIA_TYPES, MediaRules, kind_of


def check_announced(media_type: str, size_bytes: int, rules: MediaRules, *, size_bytes_max: int) -> None:
    if media_type not in MEDIA_TYPES:
        raise InvalidInput("mime_type", f"must be one of {', '.join(MEDIA_TYPES)}")
    bytes_max = size_bytes_max if kind_of(media_type) == "video" else min(size_bytes_max, rules.image_bytes_max)
    if not 1 <= size_bytes <= bytes_max:
        raise InvalidInput("size", f"must be from 1 to {bytes_max}")
