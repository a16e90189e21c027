"""The engine says what a real ComfyUI said, in everything but what is written down."""

from tools.conformance.replay import ABOUT_SKIPPED, NODE_CLASS
from tools.conformance.series import FOLDER, all_series, run_all
from tools.conformance.unsupported import NODE_CLASSES, RECORDINGS, REQUESTS


async def test_the_recordings_replayed_give_the_same_answers_and_messages():
    found = await run_all()

    assert [line for each in found.values() for line in each.differences] == []
    skipped = {key: reason for each in found.values() for key, reason in each.skipped.items()}
    by_class = {reason.removeprefix(NODE_CLASS) for reason in skipped.values() if reason.startswith(NODE_CLASS)}
    assert by_class == set(NODE_CLASSES)
    named = {key for key, reason in skipped.items() if not reason.startswith(NODE_CLASS) and reason != ABOUT_SKIPPED}
    assert named == set(REQUESTS)
    assert sum(each.requests_compared for each in found.values()) > 250
    assert sum(each.messages_compared for each in found.values()) > 700


def test_every_recording_is_replayed_or_written_down():
    replayed = {name for series in all_series() for name in series}

    assert replayed.isdisjoint(RECORDINGS)
    assert replayed | RECORDINGS.keys() == {path.stem for path in FOLDER.glob("*.jsonl")}
