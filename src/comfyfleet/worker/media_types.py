"""What a file of a media type ends with. Loaders of ComfyUI go by the ending, and objects in the store have none."""

import mimetypes

from comfyfleet.comfy.outputs import MEDIA_TYPES, OCTETS

USUAL = {"image/jpeg": ".jpg", "audio/ogg": ".ogg", OCTETS: ".bin"}
ENDINGS = {media_type: ending for ending, media_type in MEDIA_TYPES.items()} | USUAL


def extension_of(media_type: str) -> str:
    plain = media_type.partition(";")[0].strip().lower()
    return ENDINGS.get(plain) or mimetypes.guess_extension(plain) or ".bin"
