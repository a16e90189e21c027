"""The pages of the documentation as something to run: their fences in order, and what each promises."""

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
FENCE = re.compile(
    r"(?P<mark><!-- not run: (?P<reason>[^>]+) -->\n+)?^```(?P<kind>[a-z]*)\n(?P<text>.*?)^```$", re.M | re.S
)
RUN = ("sh", "console", "python")
ANSWERS = ("", "json")


@dataclass(frozen=True)
class Fence:
    page: str
    line: int
    kind: str
    text: str
    not_run: str | None

    @property
    def name(self) -> str:
        return f"{self.page}:{self.line}"


def fences(page: str) -> list[Fence]:
    """Those in a list are moved to the margin, lines and all."""
    text = re.sub(
        r"^( +)((?:<!-- not run.*\n +)?```\w*\n(?:.*\n)*?) +```$",
        lambda each: re.sub(rf"^{each[1]}", "", each[2], flags=re.M) + "```",
        (ROOT / page).read_text(),
        flags=re.M,
    )
    return [
        Fence(page, text[: each.start("kind")].count("\n") + 1, each["kind"], each["text"], each["reason"])
        for each in FENCE.finditer(text)
    ]


@dataclass(frozen=True)
class Step:
    """What is typed, and what the page shows as its answer: None where it shows nothing."""

    fence: Fence
    typed: str
    promised: str | None


def steps(found: list[Fence]) -> list[Step]:
    made: list[Step] = []
    for fence in found:
        if fence.not_run is not None:
            continue
        if fence.kind in ANSWERS and made and made[-1].fence.kind in ("sh", "python") and not made[-1].promised:
            before = made.pop()
            made.append(Step(before.fence, before.typed, fence.text))
        elif fence.kind == "console":
            made += [Step(fence, typed, promised) for typed, promised in typed_and_told(fence.text)]
        elif fence.kind == "sh":
            made.append(Step(fence, fence.text, None))
        elif fence.kind in ("python", "yaml") and (named := re.match(r"# (\S+\.(?:py|yaml))\n", fence.text)):
            made.append(Step(fence, f"cat > {named[1]} <<'END_OF_FILE'\n{fence.text}END_OF_FILE", None))
        elif fence.kind == "python":
            made.append(
                Step(
                    fence,
                    f"cat > snippet.py <<'END_OF_FILE'\n{fence.text}END_OF_FILE\n.venv/bin/python snippet.py",
                    None,
                )
            )
    return made


def typed_and_told(text: str) -> list[tuple[str, str]]:
    """`$ ` begins a command, a backslash goes on with it, and what follows is its answer."""
    found: list[tuple[list[str], list[str]]] = []
    for line in text.splitlines():
        if line.startswith("$ "):
            found.append(([line[2:]], []))
        elif found and found[-1][0][-1].endswith("\\") and not found[-1][1]:
            found[-1][0].append(line)
        elif found:
            found[-1][1].append(line)
    return [("\n".join(typed), "\n".join(told)) for typed, told in found]
