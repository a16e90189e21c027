"""Picture files into arrays: bounded before a pixel is decoded, turned upright, every frame of an animation."""

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from PIL import Image, ImageOps, ImageSequence

from comfyfleet.engine.pixels.bounds import refuse_absurd
from comfyfleet.engine.pixels.convert import Bytes, Floats, to_floats

# A stereo photograph's second frame is not the next frame of an animation.
ONE_FRAME_FORMATS = frozenset({"MPO"})
EMPTY_MASK_PX = 64


def read_pictures(path: Path, check: Callable[[], None]) -> tuple[Floats, Floats]:
    """All frames of a file and their masks (1 where transparent). A file without alpha gives a small empty mask.

    What is no picture raises Pillow's own error, as in ComfyUI: clients know it by its class.
    """
    frames: list[Bytes] = []
    masks: list[Floats] = []
    for frame in _upright_frames(path, check):
        if frames and frame.size != (frames[0].shape[1], frames[0].shape[0]):
            continue
        refuse_absurd(len(frames) + 1, frame.height, frame.width)
        frames.append(np.asarray(_eight_bits(frame).convert("RGB")))
        masks.append(_mask_of(frame))
    if not frames:
        raise ValueError(f"There is no picture in {path.name}.")
    return to_floats(np.stack(frames)), np.stack(masks)


def read_channel(path: Path, channel: str, check: Callable[[], None]) -> Floats:
    """One channel of the first frame as a mask; alpha is turned round, so that 1 is transparent."""
    frame = next(_upright_frames(path, check))
    if channel == "alpha":
        return _mask_of(frame)[None]
    colors = _eight_bits(frame).convert("RGBA")
    return to_floats(np.asarray(colors.getchannel(channel[0].upper())))[None]


def _upright_frames(path: Path, check: Callable[[], None]) -> Iterator[Image.Image]:
    try:
        picture = Image.open(path)
    except (Image.DecompressionBombError, Image.DecompressionBombWarning) as bomb:
        raise ValueError(f"{path.name} unpacks to more pixels than the engine takes.") from bomb
    with picture:
        refuse_absurd(1, picture.height, picture.width)
        for frame in ImageSequence.Iterator(picture):
            check()
            yield ImageOps.exif_transpose(frame)
            if picture.format in ONE_FRAME_FORMATS:
                return


def _eight_bits(frame: Image.Image) -> Image.Image:
    if frame.mode == "I" or frame.mode.startswith("I;16"):
        deep = np.asarray(frame).astype(np.float32)
        return Image.fromarray((deep / 256 if deep.max(initial=0) > 255 else deep).astype(np.uint8))
    return frame


def _has_alpha(frame: Image.Image) -> bool:
    return "A" in frame.getbands() or "transparency" in frame.info


def _mask_of(frame: Image.Image) -> Floats:
    if not _has_alpha(frame):
        return np.zeros((EMPTY_MASK_PX, EMPTY_MASK_PX), dtype=np.float32)
    alpha = frame if "A" in frame.getbands() else frame.convert("RGBA")
    return np.float32(1.0) - to_floats(np.asarray(alpha.getchannel("A")))
