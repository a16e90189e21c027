"""What a worker says of itself stands at the control plane in the end, whatever overtakes what on the way."""

import random
from dataclasses import dataclass, field
from typing import Any

from comfyfleet.worker.news import UNDER_WAY_S, News


@dataclass
class World:
    """A worker whose servers come and go, two connections, and a control plane that writes down what arrives."""

    chance: random.Random
    unwell: dict[str, str] = field(default_factory=dict)
    written: dict[str, Any] = field(default_factory=dict)
    at_s: float = 0.0
    sent: list[dict[str, Any]] = field(default_factory=list)  # not arrived yet
    arrived: list[dict[str, Any]] = field(default_factory=list)  # not answered yet

    def __post_init__(self) -> None:
        self.news = News(lambda: {"unwell": dict(self.unwell)}, clock=lambda: self.at_s)

    def say(self) -> None:
        if said := self.news.unheard():
            self.sent.append(said)

    def arrive(self) -> None:
        if self.sent:
            said = self.sent.pop(self.chance.randrange(len(self.sent)))
            self.written = dict(said)
            self.arrived.append(said)

    def answer(self) -> None:
        if self.arrived:
            self.news.heard(self.arrived.pop(self.chance.randrange(len(self.arrived))))

    def lose(self) -> None:
        """The connection broke; it may have arrived or not."""
        lost = self.sent if self.chance.random() < 0.5 else self.arrived
        if lost:
            lost.pop()

    def change(self) -> None:
        self.unwell = self.chance.choice([{}, {"gpu:8188": "no answer"}, {"gpu:8188": "refused"}])


def test_of_two_reports_that_crossed_the_newer_one_is_said_again() -> None:
    world = World(random.Random(0), unwell={"gpu:8188": "no answer"})
    world.say()  # a heartbeat
    world.unwell = {}
    world.say()  # a poll, which overtakes it
    older, newer = world.sent
    for each in (newer, older):
        world.written = each
    world.news.heard(older)
    world.news.heard(newer)
    assert world.written == {"unwell": {"gpu:8188": "no answer"}}
    assert world.news.unheard() == {"unwell": {}}


def test_what_was_heard_is_not_said_again() -> None:
    news = News(lambda: {"unwell": {}})
    news.heard(news.all())
    assert news.unheard() == {}
    fresh = News(lambda: {"unwell": {}})
    assert [fresh.unheard(), fresh.unheard()] == [{"unwell": {}}] * 2, "until one is heard, each says it"


def test_what_was_said_without_an_answer_is_taken_back_aloud() -> None:
    world = World(random.Random(0))
    world.news.heard(world.news.unheard())
    world.unwell = {"gpu:8188": "no answer"}
    world.say()
    world.arrive()  # written down, and its answer is lost
    world.unwell = {}
    assert world.news.unheard() == {"unwell": {}}


def test_two_of_the_same_contents_leave_no_doubt() -> None:
    news = News(lambda: {"unwell": {}})
    for said in [news.unheard(), news.unheard()]:
        news.heard(said)
    assert news.unheard() == {}


def test_a_report_without_an_answer_is_in_doubt_for_a_while_only() -> None:
    world = World(random.Random(0), unwell={"gpu:8188": "no answer"})
    world.say()  # never answered
    world.unwell = {}
    news = world.news
    news.heard(news.unheard())
    assert news.unheard() == {"unwell": {}}, "the first one may come late"
    world.at_s += UNDER_WAY_S + 1
    news.heard(news.unheard())
    assert news.unheard() == {}


def test_whatever_overtakes_what_the_latest_stands_in_the_end() -> None:
    for seed in range(500):
        world = World(random.Random(seed))
        steps = [world.change, world.say, world.say, world.arrive, world.answer, world.lose]
        for _ in range(60):
            world.chance.choice(steps)()
        while world.sent or world.arrived:
            world.arrive()
            world.answer()
        for _ in range(3):  # a heartbeat now and then
            world.at_s += UNDER_WAY_S
            world.say()
            world.arrive()
            world.answer()
        assert world.written == {"unwell": world.unwell}, seed
        assert world.news.unheard() == {}, seed
