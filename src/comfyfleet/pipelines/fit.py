"""Do the steps fit the effects they name, and a run the steps? Asked before anything is started. Pure."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any
from uuid import UUID

from comfyfleet import workflows
from comfyfleet.jobs import open_input
from comfyfleet.kernel.errors import EffectUnavailable, FleetError, InvalidInput
from comfyfleet.pipelines.fill import add_seeds, fill_properties, is_plain, named_variables
from comfyfleet.pipelines.model import (
    CONCURRENCY_MAX,
    SCORERS,
    TOP_MAX,
    VARIANTS_MAX,
    Approval,
    NewRun,
    Step,
)
from comfyfleet.pipelines.names import check_folder
from comfyfleet.workflows import Property, PropertyType, Version
from comfyfleet.workflows.effects import Offer

Offers = Mapping[str, Offer | FleetError]
SEED_MAX = 2**53 - 1
HOURS_MAX = 24 * 365
VALUE_CHARS_MAX = 20_000
# Any id will do: whether the file is there is found out when it is there.
SOME_FILE = UUID(int=0)


def require_effects(steps: Sequence[Step], offers: Offers) -> None:
    """Raises InvalidInput, which names the step's field."""
    for at, step in enumerate(steps):
        offer, version = _offered(f"steps.{at}.effect", step, offers)
        _check_input(f"steps.{at}", step, offer, version)
        for name, value in step.properties.items():
            _check_property(f"steps.{at}.properties.{name}", name, value, offer)
        _check_needed(f"steps.{at}.properties", step, offer)


def _offered(where: str, step: Step, offers: Offers) -> tuple[Offer, Version]:
    offer = offers.get(step.effect)
    if isinstance(offer, EffectUnavailable):
        raise InvalidInput(where, offer.message)
    if not isinstance(offer, Offer) or offer.version is None:
        raise InvalidInput(where, f"there is no effect {step.effect!r}")
    return offer, offer.version


def _check_input(where: str, step: Step, offer: Offer, version: Version) -> None:
    primary = open_input(offer, version)
    if step.needs_parent and primary is None:
        raise InvalidInput(f"{where}.needs.parent", f"the effect {step.effect!r} takes no picture to work on")
    if step.needs_parent and primary is not None and primary.type is not PropertyType.IMAGE:
        raise InvalidInput(f"{where}.needs.parent", f"the effect {step.effect!r} works on a video, not on a picture")
    if not step.needs_parent and primary is not None:
        raise InvalidInput(f"{where}.effect", f"{step.effect!r} needs a picture, and this step has no parent to give")


def _check_property(where: str, name: str, value: Any, offer: Offer) -> None:
    prop = next((each for each in offer.properties if each.name == name), None)
    if prop is None or prop.is_primary_input:
        known = ", ".join(each.name for each in offer.properties if not each.is_primary_input) or "none"
        raise InvalidInput(where, f"is not open in the effect {offer.effect.slug!r} (open: {known})")
    if prop.is_media or (isinstance(value, str) and named_variables(value)):
        return  # known only when a run brings it
    if not (prop.type is PropertyType.SEED and value == "random"):
        workflows.check_value(prop, value, where=where)


def _check_needed(where: str, step: Step, offer: Offer) -> None:
    given = {*step.properties, *step.variables}
    for prop in offer.properties:
        if _is_needed(prop) and prop.name not in given:
            raise InvalidInput(
                f"{where}.{prop.name}", f"is needed by the effect {step.effect!r}: set it, or name it as a variable"
            )


def _is_needed(prop: Property) -> bool:
    return prop.required and prop.default is None and not prop.is_primary_input and prop.type is not PropertyType.SEED


def check_run(new: NewRun, steps: Sequence[Step], offers: Offers, *, concurrency_max: int) -> NewRun:
    """With its folder as it will be written. Raises InvalidInput."""
    _check_variables(new.variables, steps)
    _check_numbers(new, concurrency_max=concurrency_max)
    _check_approval(new.approval)
    require_effects(steps, offers)
    for at, step in enumerate(steps):
        _try(f"steps.{at}", step, new.variables, *_offered(f"steps.{at}.effect", step, offers))
    return replace(new, target_folder=check_folder("target_folder", new.target_folder))


def _check_variables(given: Mapping[str, Any], steps: Sequence[Step]) -> None:
    wanted = list(dict.fromkeys(name for step in steps for name in step.variables))
    for name in wanted:
        if name not in given:
            raise InvalidInput(f"variables.{name}", "is needed by this pipeline")
    for name, value in given.items():
        if name not in wanted:
            known = ", ".join(wanted) or "none"
            raise InvalidInput(f"variables.{name}", f"is not used by this pipeline (it uses: {known})")
        if not isinstance(value, (str, int, float, bool)):
            raise InvalidInput(f"variables.{name}", "must be a text, a number, true or false")
        if isinstance(value, float) and not math.isfinite(value):
            raise InvalidInput(f"variables.{name}", "must be a number that there is")
        if isinstance(value, str) and not is_plain(value):
            raise InvalidInput(f"variables.{name}", "holds a NUL or half a character")
        if isinstance(value, str) and len(value) > VALUE_CHARS_MAX:
            raise InvalidInput(f"variables.{name}", f"has more than {VALUE_CHARS_MAX} characters")


def _check_numbers(new: NewRun, *, concurrency_max: int) -> None:
    limits: dict[str, tuple[float, float]] = {
        "variants": (1, VARIANTS_MAX),
        "top": (1, TOP_MAX),
        "finals": (1, 10**6),
        "concurrency": (1, min(concurrency_max, CONCURRENCY_MAX)),
        "tokens_max": (0, 10**15),
        "jobs_max": (1, 10**6),
        "hours_max": (0.001, HOURS_MAX),
        "seed": (0, SEED_MAX),
    }
    for name, (lowest, highest) in limits.items():
        value = getattr(new, name)
        if value is not None and not lowest <= value <= highest:
            raise InvalidInput(name, f"must be from {lowest} to {highest}")


def _check_approval(approval: Approval) -> None:
    if (approval.kind == "votes") != (approval.after is not None):
        raise InvalidInput("approval.after", "goes with the kind 'votes', and says after how many")
    if approval.after is not None and not 1 <= approval.after <= 10**6:
        raise InvalidInput("approval.after", "must be from 1 to 1000000")
    if (approval.kind == "scorer") != (approval.scorer is not None):
        raise InvalidInput("approval.scorer", "goes with the kind 'scorer', and names one")
    if approval.scorer is not None and approval.scorer not in SCORERS:
        raise InvalidInput("approval.scorer", f"must be one of {', '.join(SCORERS)}")


def _try(where: str, step: Step, variables: Mapping[str, Any], offer: Offer, version: Version) -> None:
    """As if it were ordered now."""
    properties, _ = add_seeds(fill_properties(step, variables, offer), offer, 0)
    primary = open_input(offer, version)
    given = properties if primary is None else {**properties, primary.name: SOME_FILE}
    try:
        workflows.choose(version.properties, offer.effect.overrides, given, fixed=offer.effect.fixed, random_seed=0)
    except InvalidInput as problem:
        raise InvalidInput(f"{where}.{problem.facts['field']}", problem.facts["problem"]) from None
