"""The demo's effects: five for the built-in engine, and others for a ComfyUI that has stock nodes only."""

import json
from dataclasses import dataclass, field
from importlib.resources import files
from typing import Literal

from comfyfleet.comfy.graph import bind_values
from comfyfleet.workflows.properties import RANDOM, Property, PropertyType, Scalar

SampleName = Literal["picture", "clip"]


@dataclass(frozen=True, slots=True)
class DemoEffect:
    """`sample`: what it is shown on. `shown`: how its preview is drawn, by node and input."""

    slug: str
    name: str
    description: str
    properties: tuple[Property, ...]
    credits_cost: int
    expected_s: float
    sample: SampleName | None = None
    shown: dict[tuple[str, str], Scalar] = field(default_factory=dict)
    # What of the graph depends on the server: which checkpoint it has.
    set: dict[tuple[str, str], Scalar] = field(default_factory=dict)

    @property
    def workflow(self) -> str:
        return f"demo-{self.slug}"

    @property
    def primary_input(self) -> Property | None:
        return next((each for each in self.properties if each.is_primary_input), None)

    def graph(self) -> bytes:
        found = files("comfyfleet.demo").joinpath("graphs", f"{self.slug}.json").read_bytes()
        return json.dumps(bind_values(json.loads(found), {}, self.set)).encode() if self.set else found


def _words(node: str, default: str) -> Property:
    return Property(
        "prompt",
        PropertyType.TEXT,
        label="What to paint",
        description="A scene (mountains, lake, sea, dunes, forest, city, aurora, nebula) and a mood (dawn, sunset, "
        "night, ice, autumn, desert, neon, blossom, storm).",
        default=default,
        multiline=True,
        node=node,
        input_name="prompt",
    )


def _seed(node: str) -> Property:
    return Property(
        "seed",
        PropertyType.SEED,
        label="Seed",
        description="Another seed, another picture of the same words.",
        default=RANDOM,
        node=node,
        input_name="seed",
    )


def _strength(node: str, default: float) -> Property:
    return Property(
        "strength",
        PropertyType.NUMBER,
        label="How much",
        default=default,
        minimum=0.05,
        maximum=1.0,
        step=0.05,
        node=node,
        input_name="strength",
    )


def _choice(
    name: str, label: str, choices: tuple[Scalar, ...], node: str, input_name: str, default: Scalar
) -> Property:
    return Property(
        name, PropertyType.CHOICE, label=label, default=default, choices=choices, node=node, input_name=input_name
    )


PICTURE = Property(
    "picture", PropertyType.IMAGE, label="Picture", node="load", input_name="image", is_primary_input=True
)
FILM = Property("film", PropertyType.VIDEO, label="Film", node="load", input_name="file", is_primary_input=True)

PAINT = DemoEffect(
    slug="paint",
    name="Painting",
    description="A landscape from your words.",
    properties=(
        _words("paint", "northern lights over a lake"),
        _seed("paint"),
        _choice("width", "Width", (512, 768, 1024), "paint", "width", 768),
        _choice("height", "Height", (512, 768, 1024), "paint", "height", 512),
        Property(
            "steps",
            PropertyType.INTEGER,
            label="Brush strokes",
            description="Passes of the brush, from broad to fine.",
            default=16,
            minimum=4,
            maximum=60,
            node="paint",
            input_name="steps",
        ),
    ),
    credits_cost=3,
    expected_s=2.0,
    shown={("paint", "width"): 512, ("paint", "height"): 512},
)
REPAINT = DemoEffect(
    slug="repaint",
    name="Painted over",
    description="Your picture, painted over in another mood.",
    properties=(PICTURE, _words("vary", "golden autumn"), _seed("vary"), _strength("vary", 0.6)),
    credits_cost=4,
    expected_s=3.0,
    sample="picture",
    shown={("fit", "largest_size"): 512},
)
GLOW = DemoEffect(
    slug="glow",
    name="Soft glow",
    description="Your picture in a haze of light.",
    properties=(
        PICTURE,
        Property(
            "haze",
            PropertyType.INTEGER,
            label="Width of the haze",
            default=16,
            minimum=1,
            maximum=31,
            node="blur",
            input_name="blur_radius",
        ),
        Property(
            "light",
            PropertyType.NUMBER,
            label="How much light",
            default=0.6,
            minimum=0.0,
            maximum=1.0,
            step=0.05,
            node="blend",
            input_name="blend_factor",
        ),
        _choice("mode", "Kind of light", ("screen", "soft_light", "overlay"), "blend", "blend_mode", "screen"),
    ),
    credits_cost=2,
    expected_s=1.0,
    sample="picture",
    shown={("fit", "largest_size"): 512},
)
PAINTED_FILM = DemoEffect(
    slug="painted-film",
    name="Painted film",
    description="Your film, painted over frame by frame. Its sound stays.",
    properties=(FILM, _words("vary", "neon city at night"), _seed("vary"), _strength("vary", 0.5)),
    credits_cost=12,
    expected_s=10.0,
    sample="clip",
    shown={("fit", "width"): 256, ("fit", "height"): 144, ("vary", "steps"): 1},
)
PIXEL_FILM = DemoEffect(
    slug="pixel-film",
    name="Pixel film",
    description="Your film as an old game would show it. Its sound stays.",
    properties=(
        FILM,
        Property(
            "colours",
            PropertyType.INTEGER,
            label="Colours",
            default=12,
            minimum=2,
            maximum=64,
            node="colours",
            input_name="colors",
        ),
        _choice("grain", "Grain", ("none", "bayer-2", "bayer-4", "bayer-8"), "colours", "dither", "bayer-4"),
    ),
    credits_cost=8,
    expected_s=4.0,
    sample="clip",
    shown={("large", "scale_by"): 2.0},
)

CATALOGUE = (PAINT, REPAINT, GLOW, PAINTED_FILM, PIXEL_FILM)


def _whole(name: str, label: str, default: int, limits: tuple[int, int], place: tuple[str, str]) -> Property:
    minimum, maximum = limits
    return Property(
        name,
        PropertyType.INTEGER,
        label=label,
        default=default,
        minimum=minimum,
        maximum=maximum,
        node=place[0],
        input_name=place[1],
    )


POSTER = DemoEffect(
    slug="poster",
    name="Poster",
    description="Your picture in a few flat colours.",
    properties=(
        PICTURE,
        _whole("colours", "Colours", 8, (2, 64), ("colours", "colors")),
        _choice("grain", "Grain", ("none", "floyd-steinberg", "bayer-4"), "colours", "dither", "none"),
    ),
    credits_cost=2,
    expected_s=2.0,
    sample="picture",
    shown={("fit", "largest_size"): 512},
)
PENCIL = DemoEffect(
    slug="pencil",
    name="Pencil drawing",
    description="The edges of your picture, drawn on white paper.",
    properties=(
        PICTURE,
        Property(
            "pressure",
            PropertyType.NUMBER,
            label="Pressure of the pencil",
            default=3.0,
            minimum=0.0,
            maximum=5.0,
            step=0.5,
            node="crisp",
            input_name="alpha",
        ),
        _whole("width", "Width of the lines", 8, (1, 31), ("blur", "blur_radius")),
    ),
    credits_cost=2,
    expected_s=2.0,
    sample="picture",
    shown={("fit", "largest_size"): 512},
)
MOSAIC = DemoEffect(
    slug="mosaic",
    name="Mosaic",
    description="Your picture, laid in square tiles.",
    properties=(PICTURE, _whole("tiles", "Tiles along the longer side", 64, (8, 128), ("tiles", "largest_size"))),
    credits_cost=1,
    expected_s=1.0,
    sample="picture",
)
NEGATIVE = DemoEffect(
    slug="negative",
    name="Negative",
    description="Your picture as film would hold it.",
    properties=(
        PICTURE,
        Property(
            "strength",
            PropertyType.NUMBER,
            label="How much",
            default=1.0,
            minimum=0.0,
            maximum=1.0,
            step=0.05,
            node="blend",
            input_name="blend_factor",
        ),
    ),
    credits_cost=1,
    expected_s=1.0,
    sample="picture",
    shown={("fit", "largest_size"): 512},
)
DREAM = DemoEffect(
    slug="dream",
    name="Dream",
    description="A picture from your words, by the checkpoint of your ComfyUI.",
    properties=(
        Property(
            "prompt",
            PropertyType.TEXT,
            label="What to show",
            default="a lighthouse on a cliff at dawn, oil painting",
            multiline=True,
            node="words",
            input_name="text",
        ),
        _seed("sample"),
        _whole("steps", "Steps", 20, (1, 60), ("sample", "steps")),
        _choice("width", "Width", (256, 512, 768, 1024), "canvas", "width", 512),
        _choice("height", "Height", (256, 512, 768, 1024), "canvas", "height", 512),
    ),
    credits_cost=5,
    expected_s=30.0,
    # Small and quick: on a server without a GPU users would wait behind it for minutes.
    shown={("canvas", "width"): 256, ("canvas", "height"): 256, ("sample", "steps"): 4},
)

# On stock nodes, and without any weights.
STOCK_PICTURES = (GLOW, POSTER, PENCIL, MOSAIC, NEGATIVE)
EVERY_EFFECT = (*CATALOGUE, DREAM, POSTER, PENCIL, MOSAIC, NEGATIVE)
