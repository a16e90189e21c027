"""A run as it could be, whole: every candidate and every job. What the server keeps as counts is counted here."""

import random
from dataclasses import dataclass, field
from uuid import UUID

from comfyfleet.kernel.ids import CandidateId, RunId
from comfyfleet.pipelines.frontier import Budget, Frontier, Parent, RunFrontier, Stage
from comfyfleet.pipelines.select import BaseGeneration, ChildGeneration, Generation


@dataclass
class Made:
    id: CandidateId
    position: int
    parent: "Made | None"
    elo: float = 1000.0
    rejected: bool = False

    @property
    def is_alive(self) -> bool:
        return not self.rejected and (self.parent is None or self.parent.is_alive)


@dataclass
class Job:
    position: int
    parent: Made | None
    ordinal: int
    state: str = "in_flight"


@dataclass
class Tree:
    """One run, played by hand."""

    id: RunId
    variants: list[int]
    tops: list[int | None]  # of each step's gate; None: closed
    concurrency: int = 1
    finals: int | None = None
    jobs_max: int | None = None
    made: list[Made] = field(default_factory=list)
    jobs: list[Job] = field(default_factory=list)
    next_id: int = 1

    def children_of(self, parent: Made) -> int:
        made = sum(each.parent is parent for each in self.made)
        return made + sum(job.parent is parent and job.state == "in_flight" for job in self.jobs)

    def failures_of(self, position: int, parent: Made | None) -> int:
        return sum(job.position == position and job.parent is parent and job.state == "failed" for job in self.jobs)

    def started_of(self, position: int, parent: Made | None) -> int:
        return sum(job.position == position and job.parent is parent for job in self.jobs)

    def alive(self, position: int) -> list[Made]:
        return [each for each in self.made if each.position == position and each.is_alive]

    def in_flight(self) -> list[Job]:
        return [job for job in self.jobs if job.state == "in_flight"]

    def frontier(self) -> RunFrontier:
        left = None if self.jobs_max is None else self.jobs_max - len(self.jobs)
        stages = tuple(self._stage(position) for position in range(len(self.variants)))
        return RunFrontier(self.id, stages, self.concurrency, Budget(jobs=left), self.finals)

    def _stage(self, position: int) -> Stage:
        jobs = [job for job in self.jobs if job.position == position]
        counts = {
            "made": sum(each.position == position for each in self.made),
            "alive": len(self.alive(position)),
            "in_flight": sum(job.state == "in_flight" for job in jobs),
            "started": len(jobs),
            "failures": sum(job.state == "failed" for job in jobs),
        }
        if position == 0:
            return Stage(0, self.variants[0], **counts)
        parents = tuple(
            Parent(
                each.id,
                each.elo,
                self.children_of(each),
                self.started_of(position, each),
                self.failures_of(position, each),
            )
            for each in self.alive(position - 1)
        )
        top = self.tops[position - 1]
        return Stage(position, self.variants[position], top is not None, top or 0, parents, **counts)

    def begin(self, found: Generation) -> Job:
        parent = None
        if isinstance(found, ChildGeneration):
            parent = next(each for each in self.made if each.id == found.parent_id)
        job = Job(found.position, parent, found.ordinal)
        self.jobs.append(job)
        return job

    def finish(self, job: Job, images: int) -> None:
        job.state = "done"
        for _ in range(images):
            self.made.append(Made(CandidateId(UUID(int=self.next_id)), job.position, job.parent))
            self.next_id += 1

    def fail(self, job: Job) -> None:
        job.state = "failed"


def whole(trees: list[Tree], room: int = 1000) -> Frontier:
    return Frontier(tuple(tree.frontier() for tree in trees), room)


def play(tree: Tree, rng: random.Random, found: Generation, *, failing: float) -> None:
    """It runs, and makes one picture, or fails."""
    job = tree.begin(found)
    if rng.random() < failing:
        tree.fail(job)
    else:
        tree.finish(job, 1)


def is_base(found: object) -> bool:
    return isinstance(found, BaseGeneration)
