"""A pipeline as somebody wrote it, in JSON or YAML, becomes a `NewPipeline`. Pure.

Every error names its field by the way to it (`steps.1.needs.parent`), so that whoever read a file can say the line.
"""

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

from comfyfleet.kernel.errors import InvalidInput
from comfyfleet.pipelines.fill import VARIABLE, is_plain, named_variables
from comfyfleet.pipelines.model import STEPS_MAX, VARIANTS_MAX, NewPipeline, Step
from comfyfleet.pipelines.names import check_folder, step_slug
from comfyfleet.workflows.properties import NAME, PROPERTIES_MAX, TEXT_CHARS_MAX

SLUG = re.compile(r"[a-z0-9][a-z0-9-]{0,62}")
NAME_CHARS_MAX = 200
DESCRIPTION_CHARS_MAX = 2_000
VARIABLES_MAX = 50


def parse_pipeline(said: object) -> NewPipeline:
    """Raises InvalidInput."""
    given = _mapping("pipeline", said, known=("slug", "name", "description", "steps"))
    name = _text("name", given.get("name"), chars_max=NAME_CHARS_MAX)
    slug = _slug("slug", given.get("slug"), name)
    description = _text("description", given.get("description", ""), chars_max=DESCRIPTION_CHARS_MAX, may_be_empty=True)
    listed = given.get("steps")
    if not isinstance(listed, Sequence) or isinstance(listed, str) or not 1 <= len(listed) <= STEPS_MAX:
        raise InvalidInput("steps", f"must be a list of 1 to {STEPS_MAX} steps")
    steps = tuple(_read_step(f"steps.{at}", each, is_first=at == 0) for at, each in enumerate(listed))
    _check_names(steps)
    _check_needs(listed, steps)
    return NewPipeline(slug, name, description, steps)


def _read_step(where: str, said: object, *, is_first: bool) -> Step:
    given = _mapping(where, said, known=("name", "slug", "effect", "needs", "variants", "properties"))
    name = _text(f"{where}.name", given.get("name"), chars_max=NAME_CHARS_MAX)
    slug = check_folder(f"{where}.slug", _slug(f"{where}.slug", given.get("slug"), name))
    needs = _mapping(f"{where}.needs", given.get("needs") or {}, known=("variables", "parent"))
    variables = _variables(f"{where}.needs.variables", needs.get("variables") or [])
    needs_parent = _needs_parent(f"{where}.needs.parent", needs.get("parent", not is_first), is_first=is_first)
    properties = _properties(f"{where}.properties", given.get("properties") or {}, variables)
    effect = _text(f"{where}.effect", given.get("effect"), chars_max=100)
    return Step(name, slug, effect, variables, needs_parent, _variants(f"{where}.variants", given), properties)


def _variants(where: str, given: Mapping[str, Any]) -> int | None:
    value = given.get("variants")
    if value is not None and (type(value) is not int or not 1 <= value <= VARIANTS_MAX):
        raise InvalidInput(where, f"must be a whole number from 1 to {VARIANTS_MAX}")
    return value


def _needs_parent(where: str, said: object, *, is_first: bool) -> bool:
    """True, or the name of the step whose picture it is: which one that may be is checked when all are known."""
    if not isinstance(said, (bool, str)):
        raise InvalidInput(where, "must be true, false, or the name of the step before")
    if is_first and said is True:
        raise InvalidInput(where, "the first step has nothing before it to work on")
    return bool(said)


def _check_names(steps: Sequence[Step]) -> None:
    seen: dict[str, int] = {}
    for at, step in enumerate(steps):
        if step.slug in seen:
            raise InvalidInput(
                f"steps.{at}.name", f"makes the same folder name {step.slug!r} as step {seen[step.slug]}"
            )
        seen[step.slug] = at


def _check_needs(listed: Sequence[Any], steps: Sequence[Step]) -> None:
    """Each step works on the one before it. One that names another is told whether that goes round in a circle."""
    places = {name: at for at, step in enumerate(steps) for name in (step.name, step.slug)}
    wanted: dict[int, int] = {}
    for at, said in enumerate(listed):
        parent = (said.get("needs") or {}).get("parent")
        if isinstance(parent, str):
            if parent not in places:
                raise InvalidInput(f"steps.{at}.needs.parent", f"there is no step {parent!r}")
            wanted[at] = places[parent]
        elif steps[at].needs_parent:
            wanted[at] = at - 1
    for at in wanted:
        if circle := _circle(at, wanted):
            named = " → ".join(repr(steps[each].name) for each in circle)
            raise InvalidInput(f"steps.{at}.needs.parent", f"the needs go round in a circle: {named}")
    for at, parent_at in wanted.items():
        if parent_at != at - 1:
            before = repr(steps[at - 1].name) if at else "none"
            raise InvalidInput(f"steps.{at}.needs.parent", f"must be the step just before it ({before})")


def _circle(start: int, wanted: Mapping[int, int]) -> list[int]:
    path, at = [start], wanted.get(start)
    while at is not None and at not in path:
        path.append(at)
        at = wanted.get(at)
    return [*path, start] if at == start else []


def _variables(where: str, said: object) -> tuple[str, ...]:
    if not isinstance(said, Sequence) or isinstance(said, str) or len(said) > VARIABLES_MAX:
        raise InvalidInput(where, f"must be a list of {VARIABLES_MAX} names at most")
    for at, each in enumerate(said):
        if not isinstance(each, str) or not VARIABLE.fullmatch(each):
            raise InvalidInput(f"{where}.{at}", "must begin with a letter and hold letters, digits and '_'")
    return tuple(dict.fromkeys(said))


def _properties(where: str, said: object, variables: Sequence[str]) -> dict[str, Any]:
    given = _mapping(where, said)
    if len(given) > PROPERTIES_MAX:
        raise InvalidInput(where, f"may hold {PROPERTIES_MAX} at most")
    for name, value in given.items():
        place = f"{where}.{name}"
        if not NAME.fullmatch(name):
            raise InvalidInput(place, "is no name of a property")
        if isinstance(value, str):
            _text(place, value, chars_max=TEXT_CHARS_MAX, may_be_empty=True)
            for each in sorted(named_variables(value) - set(variables)):
                raise InvalidInput(
                    place,
                    f"uses the variable {each!r}: name it under needs.variables, or write {{{{{each}}}}} for text",
                )
        elif not isinstance(value, (int, float)) or (isinstance(value, float) and not math.isfinite(value)):
            raise InvalidInput(place, "must be a text, a number, true or false")
    return dict(given)


def _mapping(where: str, said: object, known: Sequence[str] | None = None) -> Mapping[str, Any]:
    if not isinstance(said, Mapping) or not all(isinstance(name, str) for name in said):
        raise InvalidInput(where, "must be a mapping of names to values")
    for name in said:
        if known is not None and name not in known:
            at = name if where == "pipeline" else f"{where}.{name}"
            raise InvalidInput(at, f"is not known here (known: {', '.join(known)})")
    return said


def _slug(where: str, said: object, name: str) -> str:
    if said is not None and (not isinstance(said, str) or not SLUG.fullmatch(said)):
        raise InvalidInput(where, "must hold lower-case letters, digits and '-', 63 at most")
    made = said if said is not None else step_slug(name)[:63].rstrip("-")
    if not made:
        raise InvalidInput(where.replace("slug", "name"), "needs a letter or a digit to make a folder name of")
    return made


def _text(where: str, said: object, *, chars_max: int, may_be_empty: bool = False) -> str:
    if not isinstance(said, str) or not (said.strip() or may_be_empty):
        raise InvalidInput(where, "is needed, as a text" if said is None else "must be a text")
    if len(said) > chars_max:
        raise InvalidInput(where, f"has more than {chars_max} characters")
    if not is_plain(said):
        raise InvalidInput(where, "holds a NUL or half a character")
    return said
