"""What is promised of pipelines."""

from bench.report import Target

TARGETS: dict[str, Target] = {
    "select_growth": Target("one selection with 100,000 candidates ÷ with 100", 1.5),
    "select_ms": Target("one selection, ms", 1.0),
    "workers_fed": Target("share of worker time with work, 100 runs on 50 workers", 0.98, at_least=True),
    "child_p99_ms": Target("candidate finished → its child queued, p99 ms", 100),
}
