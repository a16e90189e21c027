"""The figures, each from its measurements."""

import random
import sys
from collections.abc import Callable
from dataclasses import dataclass

from bench.report import Report
from bench.worker import drain, loads, memory
from bench.worker.scale import FULL, LINK_BYTES_S, MB, Scale
from bench.worker.site import Site
from bench.worker.timeline import Journey, busy_share, gaps, idle_ms, percentile_ms


@dataclass(frozen=True)
class Bench:
    site: Site
    scale: Scale
    report: Report

    def say(self, what: str) -> None:
        print(f"{what} …", file=sys.stderr, flush=True)


def busy(bench: Bench) -> None:
    scale, report = bench.scale, bench.report
    loads.by_worker(bench.site, 1, 0.1)  # a server's first job ever pays for statements that the others find prepared
    all_journeys: list[Journey] = []
    for name, seconds, jobs, beside in (
        ("10s", 10.0, scale.jobs_10s, scale.beside_10s),
        ("1s", 1.0, scale.jobs_1s, scale.beside_1s),
    ):
        bench.say(f"{jobs} jobs of {seconds:g} s by the worker")
        found = loads.by_worker(bench.site, jobs, seconds)
        bench.say(f"{beside} by the seed's loop")
        seed = loads.by_seed_loop(bench.site, beside, seconds)
        bench.say(f"{beside} by the server's own queue")
        limit = loads.by_own_queue(bench.site, beside, seconds)
        report.add({f"busy_{name}": busy_share([each.run for each in found])})
        beside_it = {f"seed_busy_{name}": busy_share(seed), f"limit_busy_{name}": busy_share(limit)}
        report.figures |= beside_it
        report.absolute |= beside_it
        report.absolute |= {f"idle_{name}_{why}_ms": total for why, total in sorted(idle_ms(gaps(found)).items())}
        tell_journeys(found)
        all_journeys += found
    delays = [each.deliver_s for each in all_journeys]
    report.add({"deliver_p50_ms": percentile_ms(delays, 0.50), "deliver_p99_ms": percentile_ms(delays, 0.99)})
    report.absolute["deliver_most_ms"] = max(delays) * 1000
    report.notes.append(
        f"busy: {scale.jobs_10s} jobs of 10 s, {scale.jobs_1s} of 1 s{_instead(scale.jobs_1s, FULL.jobs_1s)}; beside"
        f" them {scale.beside_10s} and {scale.beside_1s} by the seed's loop and by the server's own queue (limit_busy)"
    )
    report.notes.append(
        f"link: a TCP proxy between worker and control plane, {LINK_BYTES_S / MB:g} MB/s each way over all connections"
        " (calls of a few kB pass by the files); idle_…: what the server waited for (its own time between two prompts,"
        " a lease, the link, the worker)"
    )
    report.notes.append(
        "deliver: from the end on the server to the user's event stream, less the PUT from its first byte to the"
        " store's answer; one job went before, and is not counted"
    )


def tell_journeys(found: list[Journey]) -> None:
    """On stderr, for whoever looks for lost time: seconds from the end of the prompt before, then ms after its own."""
    ordered = sorted(found, key=lambda each: each.run.began)
    idle_from = ordered[0].run.began
    heads = (
        "granted s",
        "fetched s",
        "posted s",
        "began s",
        "ended s",
        "to send ms",
        "sent",
        "stored",
        "ended",
        "seen",
    )
    print("".join(f"{head:>11}" for head in (*heads, "deliver")), file=sys.stderr)
    for each in ordered:
        fetched = each.fetched.ended if each.fetched is not None else idle_from
        moments = (each.granted, fetched, each.run.posted, each.run.began, each.run.ended)
        told = "".join(f"{moment - idle_from:11.3f}" for moment in moments)
        told += "".join(f"{way_s * 1000:11.0f}" for way_s in (*each.ways_s, each.deliver_s))
        print(told, file=sys.stderr)
        idle_from = each.run.ended


def resident(bench: Bench) -> None:
    scale, report = bench.scale, bench.report
    bench.say(f"{scale.memory_jobs:,} small jobs, then an output of {scale.large_bytes / MB:,.0f} MB")
    found = memory.measure(bench.site, jobs=scale.memory_jobs, large_bytes=scale.large_bytes)
    report.add({"rss_mb": found.most_mb, "rss_few_mb": found.few_mb, "rss_many_mb": found.many_mb})
    large_mb = scale.large_bytes // MB
    report.notes.append(
        f"rss_mb: the worker's peak: {scale.memory_jobs:,} small jobs{_instead(scale.memory_jobs, FULL.memory_jobs)}"
        f" and with an output of {large_mb:,} MB{_instead(large_mb, FULL.large_bytes // MB)};"
        " rss_few and rss_many: after the first tenth of the jobs, and after all"
    )


def drained(bench: Bench) -> None:
    scale, report = bench.scale, bench.report
    bench.say(f"{scale.drains} workers are told to leave")
    found = drain.measure(bench.site, drains=scale.drains, chance=random.Random(6))
    report.add({"drain_attempts": found.attempts, "drain_expired": found.expired})
    report.absolute |= {"drain_held": found.held, "drain_given_back": found.given_back}
    report.notes.append(f"drain: SIGTERM {scale.drains} times at moments by chance, up to {drain.HELD} jobs leased")


def _instead(measured: int, promised: int) -> str:
    return "" if measured == promised else f" (and not {promised:,}: a quick run)"


FIGURES: dict[str, Callable[[Bench], None]] = {"busy": busy, "drain": drained, "memory": resident}
