"""What the workers wrote down, counted. The server's own word on what it did is asked elsewhere."""

import json
from collections import Counter, defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import Any

Line = dict[str, Any]
ENDS = ("complete", "fail", "requeue")


@dataclass(frozen=True)
class Records:
    lines: list[Line]

    @classmethod
    def read(cls, folder: Path) -> "Records":
        files = sorted(folder.glob("records-*.jsonl"))
        return cls([json.loads(line) for file in files for line in file.read_text().splitlines()])

    def of(self, *events: str) -> list[Line]:
        return [line for line in self.lines if line["event"] in events]

    def completed(self) -> dict[str, list[int]]:
        """Job to the epochs whose `complete` was answered as the first."""
        found: dict[str, list[int]] = defaultdict(list)
        for line in self.of("complete"):
            if line["status"] == 200 and not line["replayed"]:
                found[line["job"]].append(line["epoch"])
        return found

    def executions(self) -> Counter[str]:
        """Job to how often somebody began it."""
        return Counter(job for job, _ in {(line["job"], line["epoch"]) for line in self.of("began")})

    def begun_after_success(self) -> list[tuple[str, int]]:
        completed = self.completed()
        began = [(line["job"], line["epoch"]) for line in self.of("began")]
        return [(job, epoch) for job, epoch in began if job in completed and epoch > max(completed[job])]

    def cut_off(self) -> set[tuple[str, int]]:
        """Executions that were followed by another, and of whose end nobody wrote a word."""
        began = {(line["job"], line["epoch"]) for line in self.of("began")}
        told = {(line["job"], line["epoch"]) for line in self.of(*ENDS, "forgot", "lost")}
        newest = {job: epoch for job, epoch in sorted(began)}
        return {(job, epoch) for job, epoch in began - told if epoch < newest[job]}

    def figures(self) -> dict[str, int]:
        executions, ends = self.executions(), self.of(*ENDS)
        return {
            "executions": sum(executions.values()),
            "jobs executed again": sum(count > 1 for count in executions.values()),
            "further executions": sum(count - 1 for count in executions.values()),
            "of these after one that was cut off": len(self.cut_off()),
            "leases re-bound after a restart": len(self.of("resumed")),
            "jobs forgotten by their worker": len(self.of("forgot")),
            "failures told": sum(line["event"] == "fail" and line["status"] == 200 for line in ends),
            "jobs given back": sum(line["event"] == "requeue" and line["status"] == 200 for line in ends),
            "calls answered again": sum(bool(line.get("replayed")) for line in ends),
            "stale calls refused": sum(line["status"] == 409 for line in ends) + len(self.of("lost")),
            "processes told they were superseded": len(self.of("superseded")),
        }
