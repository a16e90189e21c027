"""What is promised of the worker."""

from bench.report import Target

TARGETS: dict[str, Target] = {
    "busy_10s": Target("share of the time the server executes, jobs of 10 s, 20 MB in and out", 0.99, at_least=True),
    "busy_1s": Target("the same with jobs of 1 s", 0.97, at_least=True),
    "deliver_p50_ms": Target("finished on the server → visible to the user, beyond the upload, p50 ms", 50),
    "deliver_p99_ms": Target("the same, p99 ms", 150),
    "rss_mb": Target("the worker's most resident MB, over many jobs and a large output", 150),
    "drain_attempts": Target("jobs held at SIGTERM: attempts spent on them without a result", 0),
    "drain_expired": Target("jobs held at SIGTERM: leases that ran out", 0),
}

# Beside them, without a promise: the loop that the project began with, and the most that the server can do.
BESIDE = ("seed_busy_10s", "seed_busy_1s", "limit_busy_10s", "limit_busy_1s")
