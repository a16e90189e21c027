"""What users order: effects whose every byte is known beforehand, because the engine makes the same of the same."""

import random
from dataclasses import dataclass
from io import BytesIO
from typing import Any

from PIL import Image

SIDE_PX = (48, 32)
COLOURS, PICTURES = 40, 2
CANCELLED_IN = 40
PRICES = {"tint": 3, "pair": 5}
RUN_S = (0.05, 0.9)

NUMBER = {"name": "seed", "type": "seed", "node": "sleep", "input_name": "seed"}
SECONDS = {"name": "seconds", "type": "number", "node": "sleep", "input_name": "seconds", "default": 0.1}
COLOUR = {"name": "colour", "type": "integer", "node": "colour", "input_name": "color", "default": 0, "minimum": 0}
PICTURE = {"name": "picture", "type": "image", "node": "load", "input_name": "image", "is_primary_input": True}
_COLOUR = {"width": SIDE_PX[0], "height": SIDE_PX[1], "batch_size": 1, "color": 0}
_BLEND = {"image1": ["load", 0], "image2": ["colour", 0], "blend_factor": 0.5, "blend_mode": "normal"}


def _sleep(image: str) -> dict[str, Any]:
    inputs = {"seconds": 0.1, "steps": 4, "seed": 0, "previews": False, "image": [image, 0]}
    return {"class_type": "FleetSleep", "inputs": inputs}


def _save(image: str) -> dict[str, Any]:
    return {"class_type": "SaveImage", "inputs": {"images": [image, 0], "filename_prefix": "storm"}}


# One of a user's own picture; and one that leaves two files, of which none may be missing.
GRAPHS: dict[str, dict[str, Any]] = {
    "tint": {
        "load": {"class_type": "LoadImage", "inputs": {"image": "x.png"}},
        "colour": {"class_type": "EmptyImage", "inputs": _COLOUR},
        "blend": {"class_type": "ImageBlend", "inputs": _BLEND},
        "sleep": _sleep("blend"),
        "save": _save("sleep"),
    },
    "pair": {
        "colour": {"class_type": "EmptyImage", "inputs": _COLOUR},
        "sleep": _sleep("colour"),
        "other": {"class_type": "ImageInvert", "inputs": {"image": ["sleep", 0]}},
        "save": _save("sleep"),
        "save-other": _save("other"),
    },
}
PROPERTIES = {"tint": [NUMBER, SECONDS, COLOUR, PICTURE], "pair": [NUMBER, SECONDS, COLOUR]}
SAVES = {"tint": ("save",), "pair": ("save", "save-other")}


@dataclass(frozen=True, slots=True)
class Order:
    """`number` is its seed, which the engine writes into every file that it makes of it."""

    number: int
    at_s: float
    customer: int
    effect: str
    colour: int
    picture: int | None
    seconds: float
    cancelled_after_s: float | None

    @property
    def subject(self) -> tuple[str, int, int | None]:
        """Those of one subject look alike."""
        return self.effect, self.colour, self.picture

    @property
    def properties(self) -> dict[str, Any]:
        return {"seed": self.number, "seconds": self.seconds, "colour": self.colour}


def plan_orders(seed: str, count: int, *, customers: int, lasts_s: float) -> list[Order]:
    chance = random.Random(f"{seed}/orders")
    return [_order(chance, number, at_s=number * lasts_s / count, customers=customers) for number in range(count)]


def _order(chance: random.Random, number: int, *, at_s: float, customers: int) -> Order:
    effect = chance.choices(["tint", "pair"], weights=[3, 1])[0]
    return Order(
        number=number,
        at_s=at_s,
        customer=chance.randrange(customers),
        effect=effect,
        colour=chance.randrange(COLOURS) * 0x050B11 + 7,
        picture=chance.randrange(PICTURES) if effect == "tint" else None,
        seconds=round(chance.uniform(*RUN_S), 2),
        cancelled_after_s=chance.uniform(0.1, 2.0) if number % CANCELLED_IN == CANCELLED_IN // 2 else None,
    )


def picture(number: int) -> bytes:
    """A different one for each number, and the same at each call."""
    width, height = SIDE_PX
    chance = random.Random(f"picture {number}")
    written = BytesIO()
    Image.frombytes("RGB", SIDE_PX, chance.randbytes(width * height * 3)).save(written, "PNG")
    return written.getvalue()
