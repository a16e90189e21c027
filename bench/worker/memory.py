"""What a worker keeps in memory: over many small jobs, and while one large file passes through it."""

from dataclasses import dataclass

from bench.worker.scale import LINK_BYTES_S
from bench.worker.site import Site

AT_A_TIME = 100
FEW_SHARE = 0.1
SMALL_BYTES = 10_000
WITHIN_S = 300.0


@dataclass(frozen=True, slots=True)
class Remembered:
    few_mb: float  # after the first tenth of the jobs
    many_mb: float  # after all of them
    most_mb: float  # ever, the large file included


def measure(site: Site, *, jobs: int, large_bytes: int) -> Remembered:
    with site.worker() as worker:

        def run(count: int) -> None:
            ordered = [site.order(seconds=0.0, size_bytes=SMALL_BYTES, video=site.small_video) for _ in range(count)]
            site.until_visible(ordered, worker, within_s=WITHIN_S)

        few = max(1, round(jobs * FEW_SHARE))
        for size in parts(few):
            run(size)
        few_mb = worker.resident_mb
        for size in parts(jobs - few):
            run(size)
        many_mb = worker.resident_mb
        large = site.order(seconds=0.0, size_bytes=large_bytes, video=site.small_video)
        site.until_visible([large], worker, within_s=WITHIN_S + 4 * large_bytes / LINK_BYTES_S)
        return Remembered(few_mb, many_mb, worker.most_resident_mb)


def parts(count: int) -> list[int]:
    """As many at a time as a user who watches is told of."""
    return [min(AT_A_TIME, count - start) for start in range(0, count, AT_A_TIME)]
