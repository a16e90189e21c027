"""What was counted, in the text format that Prometheus reads. Pure."""

from collections.abc import Iterator

from comfyfleet.worker.telemetry import SECONDS, Phase, Seen

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
# What is counted → the metric, its label, its help.
COUNTERS = {
    "polls": ("comfyfleet_worker_polls_total", "answer", "Polls, by whether the control plane answered."),
    "heartbeats": ("comfyfleet_worker_heartbeats_total", "answer", "Heartbeats, likewise."),
    "leases": ("comfyfleet_worker_leases_total", "event", "Leases taken and lost."),
    "jobs": ("comfyfleet_worker_jobs_total", "outcome", "Jobs ended, by outcome."),
    "given_back": ("comfyfleet_worker_given_back_total", "reason", "Jobs given back, by reason."),
    "bytes": ("comfyfleet_worker_bytes_total", "way", "Bytes of inputs and outputs moved."),
    "cache": ("comfyfleet_worker_cache_total", "look", "Assets looked for in the cache."),
    "server_restarts": (
        "comfyfleet_worker_server_restarts_total",
        "server",
        "Starts of an owned ComfyUI after the first.",
    ),
}


def render(seen: Seen) -> str:
    return "\n".join([*_gauges(seen), *_counters(seen), *_stages(seen)]) + "\n"


def _gauges(seen: Seen) -> Iterator[str]:
    yield from _head("comfyfleet_worker_phase", "gauge", "1 for the phase the worker is in.")
    for phase in Phase:
        yield _line("comfyfleet_worker_phase", int(phase is seen.phase), phase=phase.value)
    yield from _head("comfyfleet_worker_held_leases", "gauge", "Leases held now.")
    yield _line("comfyfleet_worker_held_leases", seen.leases)
    yield from _head("comfyfleet_worker_running_jobs", "gauge", "Jobs that run on a server now.")
    yield _line("comfyfleet_worker_running_jobs", seen.running)
    yield from _head("comfyfleet_worker_loop_age_seconds", "gauge", "Since the agent's loop last turned.")
    yield _line("comfyfleet_worker_loop_age_seconds", round(seen.loop_age_s, 3))
    yield from _head("comfyfleet_worker_server_ready", "gauge", "1: the server can run jobs.")
    for name, status in sorted(seen.servers.items()):
        yield _line("comfyfleet_worker_server_ready", int(status.ready), server=name)


def _counters(seen: Seen) -> Iterator[str]:
    for what, (metric, label, text) in COUNTERS.items():
        yield from _head(metric, "counter", text)
        for (counted, value), count in sorted(seen.counts.items()):
            if counted == what:
                yield _line(metric, count, **{label: value})
    metric = "comfyfleet_worker_server_busy_seconds_total"
    yield from _head(metric, "counter", "Seconds in which a server executed a prompt.")
    for name, busy_s in sorted(seen.busy_s.items()):
        yield _line(metric, round(busy_s, 6), server=name)


def _stages(seen: Seen) -> Iterator[str]:
    metric = "comfyfleet_worker_stage_seconds"
    yield from _head(metric, "histogram", "How long the stages of jobs took.")
    for stage, took in sorted(seen.stages.items()):
        for end, count in zip(SECONDS, took.within, strict=True):
            yield _line(f"{metric}_bucket", count, stage=stage, le=f"{end:g}")
        yield _line(f"{metric}_bucket", took.count, stage=stage, le="+Inf")
        yield _line(f"{metric}_sum", round(took.sum_s, 6), stage=stage)
        yield _line(f"{metric}_count", took.count, stage=stage)


def _head(metric: str, kind: str, text: str) -> Iterator[str]:
    yield f"# HELP {metric} {text}"
    yield f"# TYPE {metric} {kind}"


def _line(metric: str, value: float, **labels: str) -> str:
    shown = ",".join(f'{name}="{_escaped(each)}"' for name, each in labels.items())
    return f"{metric}{{{shown}}} {value}" if shown else f"{metric} {value}"


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
