"""The process that looks: it takes one file, answers, and ends. Whatever the file does to it, it does to it alone.

It is told what to do by its one argument, reads the file by asking its parent (`channel.py`), and has given up
everything else before it sees the first byte: no file or socket can be opened, nothing written, memory and CPU are
counted.
"""

import errno
import json
import os
import resource
import sys
from collections.abc import Callable
from dataclasses import asdict
from typing import Any, BinaryIO

from comfyfleet.media.channel import POSTER_BYTES_MAX, AskedFile, frame, message
from comfyfleet.media.model import FAMILIES, Family, Looked, MediaRules, Scored, Unfit, kind_of

NICENESS = 10
TROUBLE_CHARS_MAX = 500
DAMAGED = "cannot be read: it is damaged or cut off"


def main(argument: str, answers: BinaryIO, asks: BinaryIO) -> None:
    os.nice(NICENESS)  # before anything is loaded: loading is most of its work
    job = json.loads(argument)
    media_type, rules = job["media_type"], MediaRules(**job["rules"])
    look_at = load(job["task"], media_type)
    give_up_rights(rules)
    tell(asks, message(ready=True))
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


def give_up_rights(rules: MediaRules) -> None:
    cpu_s = max(1, round(rules.probe_s))
    # The soft one ends it with a signal of its own, by which the parent knows why; the hard one would not.
    resource.setrlimit(resource.RLIMIT_CPU, (cpu_s, cpu_s + 1))
    for what, limit in (
        (resource.RLIMIT_AS, rules.probe_memory_bytes),
        (resource.RLIMIT_FSIZE, 0),
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_NOFILE, 0),
    ):
        resource.setrlimit(what, (limit, limit))


def tell(asks: BinaryIO, frames: bytes) -> None:
    asks.write(frames)
    asks.flush()


def verdict(look: Callable[[], Looked | Scored]) -> bytes:
    """Readers of broken files raise whatever they like: all of it means the same to the file's owner. But code of
    ours that cannot be loaded any more is not the file's fault."""
    try:
        looked = look()
    except Unfit as problem:
        return message(refused=str(problem))
    except (ImportError, OSError) as trouble:
        if isinstance(trouble, ImportError) or trouble.errno == errno.EMFILE:
            return message(trouble=str(trouble)[:TROUBLE_CHARS_MAX])
        return message(refused=DAMAGED)
    except MemoryError:
        return message(refused="needs more memory to be read than is allowed")
    except Exception:
        return message(refused=DAMAGED)
    if isinstance(looked, Scored):
        return message(scored=asdict(looked))
    if len(looked.poster) > POSTER_BYTES_MAX:
        return message(refused="makes a poster that is too large")
    facts = {"width": looked.width, "height": looked.height, "duration_s": looked.duration_s}
    return message(looked=facts) + frame(looked.poster)


if __name__ == "__main__":
    main(sys.argv[1], sys.stdin.buffer, sys.stdout.buffer)
