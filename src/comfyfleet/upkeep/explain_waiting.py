"""Jobs that nobody may run get a reason their users can read; where everybody is kept away, one worker tries again."""

from collections.abc import Mapping, Sequence

import structlog

from comfyfleet.dispatch import waiting
from comfyfleet.fleet.able import Candidates, Routing, find_candidates
from comfyfleet.house import House
from comfyfleet.kernel.ids import WorkerId
from comfyfleet.upkeep.turns import take_turn

NAME = "explain_waiting"
EVERY_S = 15.0
# Never full: what it finds is told whole, each time anew.
BATCH = 1_000_000
WAITED_S = 60.0
LACKS_TOLD_MAX = 5

log = structlog.get_logger()


async def tick(house: House) -> int:
    """How many lanes wait for more than their turn."""
    async with house.control_tx() as tx:
        if await take_turn(tx, NAME) is None:
            return 0
        starving = await waiting.starving_lanes(tx, waited_s=WAITED_S)
        candidates = await find_candidates(tx, {each.workflow_id for each in starving})
        blocks = await waiting.kept_away(tx, {each.structure_hash for each in starving}) if starving else {}
        verdicts = [_judge(each, candidates, blocks) for each in starving]
        reasons = [reason for verdict in verdicts for reason in verdict.reasons]
        await waiting.tell_reasons(tx, reasons)
        opened = await waiting.open_probes(tx, {probe for verdict in verdicts for probe in verdict.probes})
    _report(reasons, opened)
    return len({reason.lane for reason in reasons})


def _judge(
    starving: waiting.Starving,
    candidates: Mapping[Routing, Candidates],
    blocks: Mapping[WorkerId, Sequence[waiting.KeptAway]],
) -> waiting.Verdict:
    found = candidates.get((starving.workflow_id, starving.provider.value), Candidates())
    if found.lacking and not found.able:
        what = sorted({lack.text for missing in found.lacking.values() for lack in missing})
        log.warning("upkeep.workers_lack", workflow_id=str(starving.workflow_id), lacks=what[:LACKS_TOLD_MAX])
    return waiting.judge(starving, sorted(found.able), blocks, lacked=found.lacked)


def _report(reasons: Sequence[waiting.Reason], opened: int) -> None:
    if reasons:
        lanes = sorted({reason.lane for reason in reasons})
        log.warning("upkeep.jobs_starve", lanes=lanes, reasons=sorted({reason.text for reason in reasons}))
    if opened:
        log.info("upkeep.probes_opened", blocks=opened)
