"""A name that two processes use, over HTTP. (W1 and W3 stand in `test_protocol.py`.)"""

from comfyfleet.fleet import FleetRules
from tests.api.worker.conftest import Yard
from tests.conftest import ManualClock

RULES = FleetRules()


async def test_w2_two_machines_from_one_image_are_stopped_and_the_name_lives_on(yard: Yard, clock: ManualClock) -> None:
    """Each take-over fences the other off: without an end they would do nothing else."""
    first = await yard.register(boot_id="machine-0")
    for number in range(1, RULES.takeovers_max + 1):
        last = await yard.register(boot_id=f"machine-{number % 2}")
    assert (await first.say("poll", 409))["code"] == "superseded"
    clone = await yard.elsewhere("10.0.0.9").register(boot_id="machine-0", status=403)
    assert "Two machines" in clone.registered["message"]
    # Whoever had the name last goes on with it; and once they leave it alone, it can be taken again.
    await yard.add()
    assert await last.poll() is not None
    clock.advance(RULES.takeover_window_s + 1)
    await yard.elsewhere("10.0.0.9").register(boot_id="machine-0")


async def test_w2_one_machine_may_restart_as_often_as_it_must(yard: Yard) -> None:
    for number in range(RULES.takeovers_max * 2):
        worker = await yard.elsewhere(f"10.0.0.{number}").register(boot_id="machine-0")
    await yard.add()
    assert await worker.poll() is not None
