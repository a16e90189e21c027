"""What is promised of jobs."""

from bench.report import Target

TARGETS: dict[str, Target] = {
    "create_growth": Target("job creation, large pool ÷ small one", 1.15),
    "create_vs_raw": Target("job creation over HTTP ÷ its bare statements", 0.4, at_least=True),
    "event_p99_ms": Target("worker event → browser, 200 running jobs, two replicas, p99 ms", 250),
    "memory_growth": Target("resident memory after many jobs ÷ after few", 1.1),
}
