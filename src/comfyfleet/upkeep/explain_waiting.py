"""Jobs that nobody may run get a reason their users can read; where everybody is kept away, one worker tries again."""

from collections.abc import Sequence

import structlog

from comfyfleet.dispatch import waiting
from comfyfleet.fleet.able import able_workers
from comfyfleet.house import House
from comfyfleet.upkeep.turns import take_turn

NAME = "explain_waiting"
EVERY_S = 15.0
# Never full: what it finds is told whole, each time anew.
BATCH = 1_000_000
WAITED_S = 60.0

log = structlog.get_logger()


async def tick(house: House) -> int:
    """How many lanes wait for more than their turn."""
    async with house.control_tx() as tx:
        if await take_turn(tx, NAME) is None:
            return 0
        starving = await waiting.starving_lanes(tx, waited_s=WAITED_S)
        able = await able_workers(tx, {each.workflow_id for each in starving})
        blocks = await waiting.kept_away(tx, {each.structure_hash for each in starving}) if starving else {}
        verdicts = [
            waiting.judge(each, sorted(able.get((each.workflow_id, each.provider.value), ())), blocks)
            for each in starving
        ]
        reasons = [reason for verdict in verdicts for reason in verdict.reasons]
        await waiting.tell_reasons(tx, reasons)
        opened = await waiting.open_probes(tx, {probe for verdict in verdicts for probe in verdict.probes})
    _report(reasons, opened)
    return len({reason.lane for reason in reasons})


def _report(reasons: Sequence[waiting.Reason], opened: int) -> None:
    if reasons:
        lanes = sorted({reason.lane for reason in reasons})
        log.warning("upkeep.jobs_starve", lanes=lanes, reasons=sorted({reason.text for reason in reasons}))
    if opened:
        log.info("upkeep.probes_opened", blocks=opened)
