"""What is promised of scaling."""

from bench.report import Target

TARGETS: dict[str, Target] = {
    "paid_vs_seed": Target("consumer day: paid GPU-hours ÷ the seeds' target tracking", 0.85),
    "p95_vs_seed": Target("consumer day: wait p95 ÷ the seeds' target tracking", 0.2),
    "paid_vs_keda": Target("consumer day: paid GPU-hours ÷ KEDA with one job a worker", 0.87),
    "p95_vs_keda": Target("consumer day: wait p95 ÷ KEDA's", 1.2),
    "sparse_p95_vs_keda": Target("sparse load: wait p95 ÷ KEDA's", 0.25),
    "storm_lost": Target("jobs lost when a Spot storm takes half the fleet with notice", 0),
    "storm_attempts": Target("attempts that the storm spent", 0),
    "ask_s": Target("from zero: queued → machine asked for, s, live server", 3.0),
    "sim_jobs_s": Target("the day: jobs simulated a second and core", 8_000, at_least=True),
}
