"""What a picture may weigh here: absurd sizes are refused before memory is asked for."""

from collections.abc import Sequence
from math import prod

LONGEST_SIDE_PX = 16384
LARGEST_PICTURE_PX = 8192 * 8192
LARGEST_BATCH_BYTES = 1 << 30
FLOAT_BYTES = 4


class TooLarge(RuntimeError):
    """A picture, or a batch of them, that this engine will not hold in memory.

    A RuntimeError, because that is what ComfyUI's own allocator raises on a CPU.
    """

    def __init__(self, shape: Sequence[int]) -> None:
        self.shape = tuple(shape)
        self.bytes_wanted = prod(self.shape) * FLOAT_BYTES
        super().__init__(
            f"can't allocate memory: you tried to allocate {self.bytes_wanted} bytes for a batch of shape "
            f"{self.shape}; the engine holds at most {LARGEST_BATCH_BYTES} bytes a batch "
            f"and {LARGEST_PICTURE_PX} pixels a picture"
        )


def refuse_absurd(batch: int, height_px: int, width_px: int, channels: int = 3) -> None:
    """Raise unless a float batch of this shape is one we are willing to make."""
    shape = (batch, height_px, width_px, channels)
    if min(shape) < 1:
        raise ValueError(f"A picture needs at least one pixel, got {width_px}×{height_px} in a batch of {batch}.")
    too_long = max(height_px, width_px) > LONGEST_SIDE_PX
    too_wide = height_px * width_px > LARGEST_PICTURE_PX
    if too_long or too_wide or prod(shape) * FLOAT_BYTES > LARGEST_BATCH_BYTES:
        raise TooLarge(shape)
