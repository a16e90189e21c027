"""Pipelines in YAML: whatever is wrong is said with its line."""

from pathlib import Path

import pytest

from comfyfleet.demo.seed import example_pipeline
from comfyfleet.kernel.errors import InvalidInput
from comfyfleet.pipelines.spec import parse_pipeline
from comfyfleet.pipelines.written import NODES_MAX, InvalidFile, read_written

EXAMPLE = Path("examples/pipeline.yaml")
GOOD = """\
name: Gym shoot
steps:
  - name: Base
    effect: base
    needs:
      variables: [subject]
    properties:
      prompt: "a {subject}"
      steps: 12
      strength: .5
      tiled: true
  - name: Refine
    effect: refine
    needs: {parent: Base}
"""


def test_a_good_file_is_read_as_it_is_written() -> None:
    written = read_written(GOOD, "gym.yaml")
    new = parse_pipeline(written.said)
    assert (new.slug, [step.slug for step in new.steps]) == ("gym-shoot", ["base", "refine"])
    assert new.steps[0].properties == {"prompt": "a {subject}", "steps": 12, "strength": 0.5, "tiled": True}
    assert new.steps[1].needs_parent


def test_the_example_is_what_up_seeds() -> None:
    assert EXAMPLE.read_text() == example_pipeline()
    new = parse_pipeline(read_written(example_pipeline(), "pipeline.yaml").said)
    assert len(new.steps) == 3


def read_pipeline(text: str) -> None:
    written = read_written(text, "gym.yaml")
    try:
        parse_pipeline(written.said)
    except InvalidInput as problem:
        raise written.locate(problem) from None


@pytest.mark.parametrize(
    ("old", "new", "line", "words"),
    [
        ("effect: base\n", "effct: base\n", 4, "steps.0.effct: is not known here"),
        ("name: Refine", "nom: Refine", 12, "steps.1.nom: is not known here"),
        ("  - name: Refine\n", "  - slug: x\n", 12, "steps.1.name: is needed"),
        ("[subject]", "[subject, 7]", 6, "steps.0.needs.variables.1: must begin with a letter"),
        ("{subject}", "{object}", 8, "steps.0.properties.prompt: uses the variable 'object'"),
        ("{parent: Base}", "{parent: Refine}", 14, "steps.1.needs.parent: the needs go round in a circle"),
        ("      steps: 12\n", "      steps: 12\n      steps: 13\n", 10, "steps.0.properties.steps: is there twice"),
        ("steps: 12", "steps: 2026-11-16", 9, "steps.0.properties.steps: must be a text, a number"),
        ("steps: 12", "steps: [1]", 9, "steps.0.properties.steps: must be a text, a number"),
        ("    effect: base\n", "    effect: base\n   effect: x\n", 5, "pipeline: is no YAML"),
        ("effect: base", "effect: 'base", 4, "pipeline: is no YAML"),
        ("effect: base", "effect: !!python/object:os.system x", 4, "must be a text"),
        ("    effect: base\n", "    effect: &e base\n    slug: *e\n", 5, "has an alias"),
        ("effect: base", "? [a]\n    : base", 4, "must have a plain name"),
    ],
)
def test_what_is_wrong_is_said_with_its_line(old: str, new: str, line: int, words: str) -> None:
    assert old in GOOD
    with pytest.raises(InvalidFile) as told:
        read_pipeline(GOOD.replace(old, new, 1))
    assert words in told.value.message
    assert told.value.message.startswith(f"gym.yaml, line {line}: ")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "\x00",
        "- " * 50 + "x",
        "a: " + "[" * 2_000,
        "\n".join(f"k{at}: 1" for at in range(NODES_MAX + 1)),
        "x" * 300_000,
        "a: \ud800",
    ],
)
def test_what_is_no_pipeline_at_all_is_refused(text: str) -> None:
    with pytest.raises(InvalidInput):
        parse_pipeline(read_written(text, "odd.yaml").said)


def test_what_the_server_says_of_a_field_gets_its_line() -> None:
    written = read_written(GOOD, "gym.yaml")
    told = written.locate(InvalidInput("steps.1.needs.parent", "the effect 'refine' takes no picture to work on"))
    assert told.message == ("gym.yaml, line 14: steps.1.needs.parent: the effect 'refine' takes no picture to work on")
    assert written.locate(InvalidInput("body.steps.0.properties.seed", "is needed")).line == 7
