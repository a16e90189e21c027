"""When an alert fires, is over and is told again; with no clock but the one that the test moves."""

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from comfyfleet.kernel.ids import AlertId, new_id
from comfyfleet.notifications import (
    CONDITIONS,
    Alert,
    AlertReading,
    AlertState,
    AlertTimes,
    NotificationKind,
    Severity,
)
from comfyfleet.notifications.judge import judge
from comfyfleet.notifications.message import alert_payload, mail_subject, mail_text
from comfyfleet.notifications.model import ATTEMPTS_MAX, PAUSES_S, pause_s

BEGIN = datetime(2026, 11, 19, tzinfo=UTC)
NAME = "NoWorkers"
TIMES = AlertTimes(reminder_s=3600.0)
FIRING, RESOLVED, REMINDER = NotificationKind.FIRING, NotificationKind.RESOLVED, NotificationKind.REMINDER


class Clockwork:
    """One alert, looked at once a minute."""

    def __init__(self, times: AlertTimes = TIMES) -> None:
        self.times, self.at = times, BEGIN
        self.alert: Alert | None = None
        self.told: list[tuple[int, NotificationKind]] = []

    def look(self, holds: bool | None, *, after_s: float = 60.0) -> None:
        """None: it could not be read."""
        self.at += timedelta(seconds=after_s)
        reading = AlertReading(NAME, "3 jobs wait", "video/test") if holds else None
        change = judge(
            self.alert, reading, is_known=holds is not None, times=self.times, at=self.at, new_id=AlertId(new_id())
        )
        if change is not None:
            assert change.before is self.alert
            self.alert = change.after
            if change.tells is not None:
                self.told.append((round((self.at - BEGIN).total_seconds() / 60), change.tells))

    def look_times(self, count: int, holds: bool | None) -> None:
        for _ in range(count):
            self.look(holds)

    @property
    def state(self) -> AlertState | None:
        return self.alert.state if self.alert else None


def test_it_fires_after_its_time_and_is_over_after_a_longer_one() -> None:
    clockwork = Clockwork()
    clockwork.look_times(5, True)
    assert (clockwork.state, clockwork.told) == (AlertState.PENDING, [])
    clockwork.look(True)
    assert clockwork.told == [(6, FIRING)]
    clockwork.look_times(10, False)
    assert clockwork.state is AlertState.FIRING, "600 s are needed, and 540 s have passed"
    clockwork.look(False)
    assert (clockwork.state, clockwork.told) == (AlertState.RESOLVED, [(6, FIRING), (17, RESOLVED)])


def test_what_ends_before_its_time_is_told_to_nobody() -> None:
    clockwork = Clockwork()
    for _ in range(10):
        clockwork.look_times(4, True)
        clockwork.look(False)
    assert (clockwork.state, clockwork.told) == (AlertState.RESOLVED, [])


def test_a_firing_alert_that_comes_and_goes_stays_one_alert() -> None:
    clockwork = Clockwork()
    clockwork.look_times(6, True)
    assert clockwork.alert is not None
    first = clockwork.alert.id
    for _ in range(4):
        clockwork.look_times(9, False)
        clockwork.look(True)
    assert clockwork.told == [(6, FIRING)]
    assert clockwork.alert.id == first


def test_one_that_begins_again_is_another_alert() -> None:
    clockwork = Clockwork()
    clockwork.look_times(6, True)
    assert clockwork.alert is not None
    first = clockwork.alert.id
    clockwork.look_times(12, False)
    clockwork.look_times(6, True)
    assert [kind for _, kind in clockwork.told] == [FIRING, RESOLVED, FIRING]
    assert clockwork.alert.id != first


def test_what_cannot_be_read_changes_nothing() -> None:
    clockwork = Clockwork()
    clockwork.look_times(6, True)
    before = clockwork.alert
    clockwork.look_times(60, None)
    assert clockwork.alert is before
    fresh = Clockwork()
    fresh.look(None)
    assert fresh.alert is None


def test_after_a_gap_waiting_starts_anew() -> None:
    pending = Clockwork()
    pending.look_times(3, True)
    pending.look(True, after_s=3600)
    assert pending.state is AlertState.PENDING, "nobody looked for an hour: it may have been gone in between"
    pending.look_times(5, True)
    assert pending.state is AlertState.FIRING
    firing = Clockwork()
    firing.look_times(6, True)
    firing.look(False)
    firing.look(False, after_s=3600)
    assert firing.state is AlertState.FIRING


def test_it_is_told_again_every_so_often_and_not_at_all_with_zero() -> None:
    clockwork = Clockwork()
    clockwork.look_times(6 + 130, True)
    assert clockwork.told == [(6, FIRING), (66, REMINDER), (126, REMINDER)]
    quiet = Clockwork(AlertTimes(reminder_s=0.0))
    quiet.look_times(6 + 600, True)
    assert [kind for _, kind in quiet.told] == [FIRING]


def test_zero_seconds_mean_at_once() -> None:
    clockwork = Clockwork(AlertTimes(for_s=0.0, resolve_s=0.0))
    clockwork.look(True)
    clockwork.look(False)
    assert clockwork.told == [(1, FIRING), (2, RESOLVED)]


@given(st.lists(st.sampled_from([True, False, None]), max_size=120))
def test_whatever_is_read_firing_and_resolved_take_turns_and_keep_their_times(looks: list[bool | None]) -> None:
    clockwork = Clockwork(AlertTimes(reminder_s=0.0))
    for holds in looks:
        clockwork.look(holds)
    kinds = [kind for _, kind in clockwork.told]
    assert kinds == [FIRING, RESOLVED] * (len(kinds) // 2) + [FIRING] * (len(kinds) % 2)
    for place, (minute, kind) in enumerate(clockwork.told):
        wanted = kind is FIRING
        # The looks before it: without one that says the opposite for as long as it takes, five minutes or ten.
        needed = 6 if wanted else 11
        last = looks[max(0, minute - needed) : minute]
        assert (not wanted) not in last[-needed:]
        if place:
            assert minute - clockwork.told[place - 1][0] >= needed - 1


def test_the_message_says_what_since_when_and_what_to_do() -> None:
    clockwork = Clockwork()
    clockwork.look_times(6, True)
    assert clockwork.alert is not None
    payload = alert_payload(
        CONDITIONS[NAME], [clockwork.alert], FIRING, at=clockwork.at, public_url="https://fleet.example.com"
    )
    said = json.loads(payload)
    assert said["type"] == "alert.firing"
    assert said["text"] == "FIRING: NoWorkers (video/test). 3 jobs wait"
    [alert] = said["data"]["alerts"]
    assert (alert["subject"], alert["value"], alert["since"]) == (
        "video/test",
        "3 jobs wait",
        (BEGIN + timedelta(minutes=1)).isoformat(),
    )
    assert said["data"]["runbook"] == "docs/runbooks/NoWorkers.md"
    assert said["data"]["console_url"] == "https://fleet.example.com/console/notifications"
    text = mail_text(payload)
    for each in ("NoWorkers", "video/test", "3 jobs wait", "docs/runbooks/NoWorkers.md", "/console/notifications"):
        assert each in text
    many = [replace(clockwork.alert, subject=f"fleet-{number}\n") for number in range(60)]
    payload = alert_payload(CONDITIONS[NAME], many, FIRING, at=clockwork.at, public_url="")
    assert json.loads(payload)["data"]["count"] == 60
    assert len(json.loads(payload)["data"]["alerts"]) == 50
    assert "\n" not in mail_subject(payload)
    assert "and 55 more" in mail_subject(payload)


def test_tries_take_longer_and_end() -> None:
    assert [pause_s(number + 1, chance=0.5) for number in range(len(PAUSES_S))] == pytest.approx(list(PAUSES_S))
    assert pause_s(ATTEMPTS_MAX, chance=0.5) is None


def test_pages_are_told_everywhere_and_tickets_where_they_are_wanted() -> None:
    tickets = {each.name for each in CONDITIONS.values() if each.severity is Severity.TICKET}
    assert tickets == {"DiskFull", "SpotLost"}
    for each in CONDITIONS.values():
        assert each.resolve_s >= max(300.0, 2 * each.for_s), each.name
