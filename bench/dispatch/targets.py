"""What is promised of the queue."""

from bench.report import Target

TARGETS: dict[str, Target] = {
    "lease_growth": Target("lease, large queue ÷ small one, 10 lanes", 1.25),
    "lease_growth_adverse": Target("… the backlog others', at higher priority", 1.25),
    "engine_vs_raw": Target("lease + complete, 200 callers ÷ raw pgbench", 5, at_least=True),
    "engine_vs_pgqueuer": Target("… ÷ pgqueuer's drain", 1.5, at_least=True),
    "http_vs_pgqueuer": Target("enqueue → lease → complete over HTTP ÷ pgqueuer's drain", 0.4, at_least=True),
    "http_vs_procrastinate": Target("… ÷ procrastinate's drain", 6, at_least=True),
    "metrics_cost": Target("whole jobs over HTTP, metrics on ÷ off", 0.97, at_least=True),
    "pickup_p50_ms": Target("queued → leased by a waiting poll, p50 ms", 3),
    "pickup_p99_ms": Target("… p99 ms", 12),
    "lease_statements_per_job": Target("lease statements a job", 2),
    "idle_10k_rss_mb": Target("10,000 waiting workers: resident MB", 500),
    "idle_10k_core_share": Target("… share of one core", 0.25),
    "lease_snapshot": Target("lease beside an open snapshot ÷ without", 1.5),
    "sqlite_lease_growth": Target("SQLite lease, large queue ÷ empty one", 1.2),
    "fair_overhead": Target("1,000 tenants with fair tags ÷ one", 1.2),
}
