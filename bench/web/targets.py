"""What is promised of the web app."""

from bench.report import Target

TARGETS: dict[str, Target] = {
    "first_load_kb": Target("first load, KB gzipped", 350),
    "interactive_s": Target("interactive in Chromium with a quarter of the CPU, s", 1.5),
    "timeline_fps_ratio": Target("frames a second, scrolling 50,000 blocks ÷ an empty page", 0.8, at_least=True),
    "tree_fps_ratio": Target("frames a second, zooming 1,000 pictures ÷ an empty page", 0.8, at_least=True),
    "history_ms": Target("history of 100,000 jobs shown, ms", 300),
}
