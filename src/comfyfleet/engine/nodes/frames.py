"""Going through a batch frame by frame, so that a long one can be watched and stopped."""

from collections.abc import Callable, Iterator

import numpy as np

from comfyfleet.engine.node import Context
from comfyfleet.engine.pixels.bounds import refuse_absurd
from comfyfleet.engine.pixels.convert import Floats

# ComfyUI says nothing of single frames; a client that counts messages of a small batch sees what it would see there.
REPORTED_FROM = 9


def watched(images: Floats, context: Context) -> Iterator[Floats]:
    """The frames of a batch; between them an interrupt takes effect, and long batches report progress."""
    total = len(images)
    for done, frame in enumerate(images, start=1):
        context.check()
        yield frame
        if total >= REPORTED_FROM:
            context.step(done, total)


def change_each(images: Floats, context: Context, change: Callable[[Floats], Floats]) -> Floats:
    """A batch with each frame changed; all changed frames have one shape."""
    changed: Floats | None = None
    for number, frame in enumerate(watched(images, context)):
        after = change(frame)
        if changed is None:
            refuse_absurd(len(images), *after.shape)
            changed = np.empty((len(images), *after.shape), dtype=np.float32)
        changed[number] = after
    return images if changed is None else changed
