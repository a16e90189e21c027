"""What is made next: over random trees, never what the rules forbid; and in the end, all that they allow."""

import random
from collections import Counter
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from comfyfleet.kernel.ids import CandidateId, RunId
from comfyfleet.pipelines.frontier import Budget, Frontier, Parent, RunFrontier, Stage
from comfyfleet.pipelines.select import (
    FAILURES_MAX,
    BaseGeneration,
    ChildGeneration,
    Generation,
    NoWork,
    Outlook,
    WaitingForApproval,
    begin,
    choose_parent,
    closed_gate,
    outlook,
    select_next,
    weights_of,
)
from tests.unit.pipelines.trees import Tree, play, whole

NO_LIMIT = Budget()
MOVES = ["advance", "finish", "fail", "vote", "reject", "approve", "reopen"]


@st.composite
def trees(draw: st.DrawFn) -> Tree:
    steps = draw(st.integers(1, 4))
    return Tree(
        RunId(UUID(int=draw(st.integers(1, 2**64)))),
        variants=draw(st.lists(st.integers(1, 4), min_size=steps, max_size=steps)),
        tops=draw(st.lists(st.none() | st.integers(1, 4), min_size=steps, max_size=steps)),
        concurrency=draw(st.integers(1, 5)),
        finals=draw(st.none() | st.integers(1, 6)),
        jobs_max=draw(st.none() | st.integers(0, 30)),
    )


def move(tree: Tree, what: str, rng: random.Random) -> None:
    """Something that people or workers do; where there is nothing to do it to, nothing."""
    flying, alive = tree.in_flight(), [each for each in tree.made if each.is_alive]
    if what == "finish" and flying:
        tree.finish(rng.choice(flying), 1)
    elif what == "fail" and flying:
        tree.fail(rng.choice(flying))
    elif what == "vote" and alive:
        rng.choice(alive).elo += rng.uniform(-200, 200)
    elif what == "reject" and alive:
        rng.choice(alive).rejected = True
    elif what == "approve":
        tree.tops[rng.randrange(len(tree.tops))] = rng.randint(1, 4)
    elif what == "reopen":
        tree.tops[rng.randrange(len(tree.tops))] = None


def check_lawful(tree: Tree, found: Generation) -> None:
    assert len(tree.in_flight()) < tree.concurrency
    assert tree.jobs_max is None or len(tree.jobs) < tree.jobs_max
    if isinstance(found, BaseGeneration):
        flying = sum(job.position == 0 for job in tree.in_flight())
        made = sum(each.position == 0 for each in tree.made)
        assert made + flying < tree.variants[0]
        assert tree.failures_of(0, None) < FAILURES_MAX or tree.failures_of(0, None) <= made
        assert found.ordinal == tree.started_of(0, None)
        return
    parent = next(each for each in tree.made if each.id == found.parent_id)
    top = tree.tops[found.position - 1]
    assert top is not None, "past a closed gate"
    assert parent.position == found.position - 1
    assert parent.is_alive, "below a rejected one"
    better = [each for each in tree.alive(parent.position) if (-each.elo, each.id) < (-parent.elo, parent.id)]
    assert len(better) < top, "not among the best"
    assert tree.children_of(parent) < tree.variants[found.position]
    assert tree.failures_of(found.position, parent) < FAILURES_MAX
    assert found.ordinal == tree.started_of(found.position, parent)


@given(trees(), st.lists(st.sampled_from(MOVES), max_size=60), st.integers(0, 2**32))
def test_nothing_is_begun_that_the_rules_forbid(tree: Tree, moves: list[str], seed: int) -> None:
    rng = random.Random(seed)
    names: set[tuple[int, object, int]] = set()
    for what in moves:
        if what != "advance":
            move(tree, what, rng)
            continue
        found = select_next(whole([tree]), rng)
        if isinstance(found, BaseGeneration | ChildGeneration):
            check_lawful(tree, found)
            name = (found.position, getattr(found, "parent_id", None), found.ordinal)
            assert name not in names, "the same job twice"
            names.add(name)
            tree.begin(found)


@given(trees(), st.integers(0, 2**32), st.floats(0, 0.6))
def test_with_all_gates_open_a_run_comes_to_its_end_and_leaves_nothing_undone(
    tree: Tree, seed: int, failing: float
) -> None:
    tree.tops, tree.concurrency = [4] * len(tree.tops), 1
    rng = random.Random(seed)
    for _ in range(2000):
        found = select_next(whole([tree]), rng)
        if not isinstance(found, BaseGeneration | ChildGeneration):
            break
        play(tree, rng, found, failing=failing)
    assert isinstance(found, NoWork)
    run = tree.frontier()
    assert outlook(run) in {Outlook.DONE, Outlook.FAILED, Outlook.OUT_OF_BUDGET}
    if outlook(run) is Outlook.FAILED:
        assert not tree.alive(len(tree.variants) - 1)
    if outlook(run) is Outlook.DONE and tree.finals is not None:
        assert len(tree.alive(len(tree.variants) - 1)) <= tree.finals


@given(st.lists(trees(), min_size=1, max_size=4, unique_by=lambda tree: tree.id), st.integers(1, 30), st.integers())
def test_choosing_many_from_one_reading_is_choosing_one_by_one(runs: list[Tree], room: int, seed: int) -> None:
    """`begin` keeps the counts as the server's rows would be."""
    at_once, rng = whole(runs, room), random.Random(seed)
    by_id = {tree.id: tree for tree in runs}
    while isinstance(found := select_next(at_once, rng), BaseGeneration | ChildGeneration):
        check_lawful(by_id[found.run_id], found)
        by_id[found.run_id].begin(found)
        at_once = begin(at_once, found)
        assert set(at_once.runs) == {tree.frontier() for tree in runs}
    assert sum(len(tree.jobs) for tree in runs) <= room


def a_run(number: int, *, candidates: int = 100, concurrency: int = 100) -> RunFrontier:
    return RunFrontier(RunId(UUID(int=number)), (Stage(0, candidates),), concurrency)


def test_every_run_gets_its_turn() -> None:
    frontier = Frontier(tuple(a_run(number) for number in range(1, 8)), room=70)
    served: Counter[RunId] = Counter()
    while isinstance(found := select_next(frontier, random.Random(1)), BaseGeneration):
        served[found.run_id] += 1
        frontier = begin(frontier, found)
        assert max(served.values()) - min(served[run.id] for run in frontier.runs) <= 1
    assert set(served.values()) == {10}


def test_a_run_without_room_of_its_own_is_passed_over() -> None:
    full, free = a_run(1, concurrency=1), a_run(2)
    frontier = Frontier((full.begun(0, None), free), room=5)
    assert select_next(frontier, random.Random(1)) == BaseGeneration(free.id, 0, 0)


def test_a_parent_is_chosen_as_often_as_its_weight_says() -> None:
    parents = [Parent(CandidateId(UUID(int=number)), elo) for number, elo in enumerate([1000, 1100, 1200, 900], 1)]
    weights = weights_of(parents)
    assert weights[2] / weights[0] == pytest.approx(10 ** (200 / 400))
    rng, draws = random.Random(5), 20_000
    found = Counter(choose_parent(parents, rng).id for _ in range(draws))
    # Pearson's chi squared, 3 degrees of freedom: above 16.3 once in a thousand.
    expected = [draws * weight / sum(weights) for weight in weights]
    assert sum((found[p.id] - e) ** 2 / e for p, e in zip(parents, expected, strict=True)) < 16.3


def two_steps(*, is_open: bool, parents: int = 2, budget: Budget = NO_LIMIT, **last: int) -> RunFrontier:
    best = tuple(Parent(CandidateId(UUID(int=number)), 1000) for number in range(1, parents + 1))
    stages = (Stage(0, parents, made=parents), Stage(1, 1, is_open, 2, best, price=10, **last))
    return RunFrontier(RunId(UUID(int=7)), stages, budget=budget)


def test_a_closed_gate_is_waited_for_by_name() -> None:
    run = two_steps(is_open=False)
    assert select_next(Frontier((run,), 9), random.Random(1)) == WaitingForApproval(((run.id, 0),))
    assert closed_gate(run) == 0


def test_while_something_flies_nobody_is_asked() -> None:
    run = two_steps(is_open=False, in_flight=1)
    assert outlook(run) is Outlook.BUSY
    assert select_next(Frontier((run,), 9), random.Random(1)) == NoWork()


@pytest.mark.parametrize("budget", [Budget(jobs=0), Budget(tokens=9), Budget(is_over_time=True)])
def test_what_it_may_not_pay_it_does_not_begin(budget: Budget) -> None:
    run = two_steps(is_open=True, budget=budget)
    assert select_next(Frontier((run,), 9), random.Random(1)) == NoWork()
    assert outlook(run) is Outlook.OUT_OF_BUDGET


def test_a_first_step_that_fails_three_times_ends_the_run() -> None:
    run = RunFrontier(RunId(UUID(int=7)), (Stage(0, 3, failures=3, started=3), Stage(1, 1, False)))
    assert outlook(run) is Outlook.FAILED


@pytest.mark.parametrize(
    ("made", "failures", "goes_on"), [(400, 3, True), (400, 401, False), (3, 3, True), (2, 3, False)]
)
def test_of_many_first_ones_a_few_may_fail(made: int, failures: int, goes_on: bool) -> None:
    stages = (Stage(0, 1000, made=made, alive=made, failures=failures), Stage(1, 1, False))
    found = select_next(Frontier((RunFrontier(RunId(UUID(int=7)), stages),), 9), random.Random(1))
    assert isinstance(found, BaseGeneration) is goes_on


def test_what_is_nearest_to_the_end_comes_first() -> None:
    parent = Parent(CandidateId(UUID(int=1)), 1000)
    stages = (Stage(0, 1, made=1), Stage(1, 2, True, 1, (parent,)), Stage(2, 1, True, 1, (parent,)))
    found = select_next(Frontier((RunFrontier(RunId(UUID(int=7)), stages),), 1), random.Random(1))
    assert found == ChildGeneration(RunId(UUID(int=7)), 2, parent.id, 0)
