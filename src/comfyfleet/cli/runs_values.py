"""NAME=VALUE on the command line, as values of JSON."""

from collections.abc import Sequence

from comfyfleet.kernel.errors import InvalidInput

WORDS = {"true": True, "false": False}


def parse_variables(given: Sequence[str]) -> dict[str, str | int | float | bool]:
    """Numbers are numbers, true and false are what they say; in quotes, all is text."""
    found: dict[str, str | int | float | bool] = {}
    for each in given:
        name, equals, text = each.partition("=")
        if not equals or not name.strip():
            raise InvalidInput("--set", f"{each!r} is not NAME=VALUE")
        found[name.strip()] = _value(text)
    return found


def _value(text: str) -> str | int | float | bool:
    if len(text) > 1 and text[0] == text[-1] and text[0] in "'\"":
        return text[1:-1]
    if text in WORDS:
        return WORDS[text]
    for kind in (int, float):
        try:
            number = kind(text)
        except ValueError:
            continue
        return number if abs(number) < 2**53 and number == number else text
    return text
