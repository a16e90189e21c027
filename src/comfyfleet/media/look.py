"""The process that looks: it takes one file, answers, and ends. Whatever the file does to it, it does to it alone.

It is told what to do by its one argument, reads the file by asking its parent (`channel.py`), and gives up
everything else before it sees the first byte (`sandbox.py`).
"""

import errno
import json
import os
import sys
from collections.abc import Callable
from dataclasses import asdict
from typing import Any, BinaryIO

from comfyfleet.media.channel import POSTER_BYTES_MAX, TEXT_CHARS_MAX, AskedFile, frame, message
from comfyfleet.media.model import FAMILIES, Family, Looked, MediaRules, Scored, Unfit, kind_of
from comfyfleet.media.sandbox import enter_sandbox

NICENESS = 10
DAMAGED = "cannot be read: it is damaged or cut off"


def main(argument: str, answers: BinaryIO, asks: BinaryIO) -> None:
    os.nice(NICENESS)  # before anything is loaded: loading is most of its work
    job = json.loads(argument)
    media_type, rules = job["media_type"], MediaRules(**job["rules"])
    look_at = load(job["task"], media_type)
    missing = enter_sandbox(rules)
    tell(asks, message("ready", unconfined=missing))
    if missing is not None and rules.requires_sandbox:
        return
    tell(asks, verdict(lambda: look_at(AskedFile(asks, answers, job["size_bytes"]), FAMILIES[media_type], rules)))


def load(task: str, media_type: str) -> Callable[[Any, Family, MediaRules], Looked | Scored]:
    """Only what this one needs, and while files can be opened yet."""
    from comfyfleet.media.pictures import keep_own_limit, look_at_picture

    keep_own_limit()
    if task == "score":
        from comfyfleet.media.scores import score_picture

        return score_picture
    if kind_of(media_type) == "video":
        from comfyfleet.media.films import look_at_film

        return look_at_film
    return look_at_picture


def tell(asks: BinaryIO, frames: bytes) -> None:
    asks.write(frames)
    asks.flush()


def verdict(look: Callable[[], Looked | Scored]) -> bytes:
    """Readers of broken files raise whatever they like: all of it means the same to the file's owner. But code of
    ours that cannot be loaded any more is not the file's fault."""
    try:
        looked = look()
    except Unfit as problem:
        return refusal(str(problem))
    except (ImportError, OSError) as trouble:
        if isinstance(trouble, ImportError) or _is_ours(trouble):
            return message("trouble", text=str(trouble)[:TEXT_CHARS_MAX])
        return refusal(DAMAGED)
    except MemoryError:
        return refusal("needs more memory to be read than is allowed")
    except Exception:
        return refusal(DAMAGED)
    if isinstance(looked, Scored):
        return message("scored", **asdict(looked))
    if len(looked.poster) > POSTER_BYTES_MAX:
        return refusal("makes a poster that is too large")
    facts = message("looked", width=looked.width, height=looked.height, duration_s=looked.duration_s)
    return facts + frame(looked.poster)


def _is_ours(trouble: OSError) -> bool:
    """A file that our code wanted to open. PyAV's errors are OSErrors too, and come from the stranger's file."""
    return type(trouble).__module__ == "builtins" and trouble.errno in (errno.EMFILE, errno.EPERM)


def refusal(text: str) -> bytes:
    return message("refused", text=text[:TEXT_CHARS_MAX])


if __name__ == "__main__":
    main(sys.argv[1], sys.stdin.buffer, sys.stdout.buffer)
