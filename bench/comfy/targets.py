"""What is promised of speaking ComfyUI."""

from bench.report import Target

TARGETS: dict[str, Target] = {
    "hash_vs_sha256": Target("content + structure hash of a 50-node graph ÷ SHA-256 of its bytes", 10),
    "pool_efficiency": Target("Pool.run over 4 engines ÷ their own limit at depth 2", 0.97, at_least=True),
    "pool_cpu_ms": Target("our CPU a job in the pool, ms", 5),
    "idle_200_core_share": Target("200 idle servers connected: share of one core", 0.02),
    "ws_mb_s": Target("progress frames of a 300-node graph handled, MB/s", 50, at_least=True),
}
