"""Errors on the command line: one sentence on standard error, and an exit code per family."""

import json
from typing import TypeGuard

from rich.console import Console

from comfyfleet.kernel.errors import Conflict, FleetError, Forbidden, NotFound, Refused, Unauthenticated, Unavailable

EXIT_CODES: dict[type[FleetError], int] = {
    FleetError: 1,
    Refused: 2,
    NotFound: 3,
    Conflict: 4,
    Forbidden: 5,
    Unauthenticated: 5,
    Unavailable: 6,
}


def exit_code(error: FleetError) -> int:
    return next(EXIT_CODES[family] for family in type(error).__mro__ if family in EXIT_CODES)


def print_error(error: FleetError, *, as_json: bool) -> None:
    console = Console(stderr=True, highlight=False, soft_wrap=True)
    if as_json:
        body = {"error": {"code": error.code, "message": error.message, "details": error.facts}}
        console.out(json.dumps(body), highlight=False)
    else:
        console.print(f"[bold red]error[/] [dim]({error.code})[/] ", end="")
        console.print(_sentence(error), markup=False)


def _sentence(error: FleetError) -> str:
    """With the facts that the message leaves to programs: here nobody else shows them."""
    problems = error.facts.get("problems")
    if _are_problems(problems) and len(problems) > 1:
        return "; ".join(f"{each['field'] or each['where']}: {each['problem']}" for each in problems)
    untold = [
        f"{name.replace('_', ' ')}: {fact}" for name, fact in error.facts.items() if not _is_told(fact, error.message)
    ]
    return f"{error.message} ({', '.join(untold)})" if untold else error.message


def _is_told(fact: object, message: str) -> bool:
    if isinstance(fact, bool):
        return True  # a yes or no is for programs; a person gets the words
    if _are_problems(fact):
        return True  # the message says it in words
    return str(fact) in message or (isinstance(fact, float) and f"{fact:g}" in message)


def _are_problems(fact: object) -> TypeGuard[list[dict[str, str]]]:
    """What is wrong with each field of a request."""
    return isinstance(fact, list) and all(
        isinstance(each, dict) and {"field", "problem"} <= each.keys() for each in fact
    )
