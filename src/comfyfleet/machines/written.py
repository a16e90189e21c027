"""Classes of machines as an operator writes them on one line: `g5.xlarge,spot=0.4,on_demand=1,memory=24,zones=a+b`."""

from comfyfleet.kernel.errors import InvalidInput
from comfyfleet.scaling import MachineClass, Market, Offer

EXAMPLE = "such as g5.xlarge,spot=0.4,on_demand=1.0,memory=24,speed=1.3,zones=a+b"
NUMBERS = {"memory": "memory_gb", "speed": "speed"}


def read_class(text: str) -> MachineClass:
    """Raises InvalidInput. A market without a price: `spot`."""
    name, *parts = [each.strip() for each in text.split(",")]
    offers: list[Offer] = []
    facts: dict[str, float] = {}
    zones: tuple[str, ...] = ("",)
    for part in parts:
        key, equals, value = part.partition("=")
        if key in (Market.SPOT, Market.ON_DEMAND):
            offers.append(Offer(Market(key), _number(text, key, value) if equals else None))
        elif key in NUMBERS:
            facts[NUMBERS[key]] = _number(text, key, value)
        elif key == "zones" and value:
            zones = tuple(value.split("+"))
        else:
            raise InvalidInput("class", f"{text!r} has {part!r}; write it {EXAMPLE}")
    return MachineClass(name, zones=zones, offers=tuple(offers) or (Offer(Market.ON_DEMAND),), **facts)


def _number(text: str, key: str, value: str) -> float:
    try:
        return float(value)
    except ValueError:
        raise InvalidInput("class", f"{text!r}: {key} is {value!r}, which is no number; write it {EXAMPLE}") from None
