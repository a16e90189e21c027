"""The pages of the documentation as something to run: their fences in order, and what each promises."""

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
FENCE = re.compile(
    r"(?P<mark><!-- not run: (?P<reason>[^>]+) -->\n+)?^```(?P<kind>[a-z]*)\n(?P<text>.*?)^```$", re.M | re.S
)
RUN = ("sh", "console", "python")
# What a reader has in front of the page: started by the test, once for all pages.
STARTED = {"make up", "comfyfleet up"}


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
    text = re.sub(r"^ +(?=```|<!-- not run)", "", (ROOT / page).read_text(), flags=re.M)
    return [
        Fence(page, text[: each.start("kind")].count("\n") + 1, each["kind"], each["text"], each["reason"])
        for each in FENCE.finditer(text)
    ]


@dataclass(frozen=True)
class Step:
    """What is typed, and the lines that the page shows as its answer."""

    fence: Fence
    typed: str
    promised: tuple[str, ...]


def steps(found: list[Fence]) -> list[Step]:
    made: list[Step] = []
    for fence in found:
        if fence.not_run is not None:
            continue
        if fence.kind in ("", "json") and made and made[-1].fence.kind == "sh" and not made[-1].promised:
            before = made.pop()
            promised = said_in_json(fence.text) if fence.kind == "json" else tuple(fence.text.splitlines())
            made.append(Step(before.fence, before.typed, promised))
        elif fence.kind == "console":
            made += [Step(fence, typed, promised) for typed, promised in typed_and_told(fence.text)]
        elif fence.kind == "sh":
            made.append(Step(fence, fence.text, ()))
        elif fence.kind in ("python", "yaml") and (named := re.match(r"# (\S+\.(?:py|yaml))\n", fence.text)):
            made.append(Step(fence, f"cat > {named[1]} <<'END_OF_FILE'\n{fence.text}END_OF_FILE", ()))
        elif fence.kind == "python":
            made.append(
                Step(fence, f"cat > snippet.py <<'END_OF_FILE'\n{fence.text}END_OF_FILE\npython snippet.py", ())
            )
    return made


def typed_and_told(text: str) -> list[tuple[str, tuple[str, ...]]]:
    """`$ ` begins a command, a backslash goes on with it, and what follows is its answer."""
    found: list[tuple[list[str], list[str]]] = []
    for line in text.splitlines():
        if line.startswith("$ "):
            found.append(([line[2:]], []))
        elif found and found[-1][0][-1].endswith("\\") and not found[-1][1]:
            found[-1][0].append(line)
        elif found:
            found[-1][1].append(line)
    return [("\n".join(typed), tuple(told)) for typed, told in found]


def said_in_json(text: str) -> tuple[str, ...]:
    """Names, with their words where these are the same each time."""
    pairs = re.findall(r'"(\w+)":\s*("[^"]*"|true|false|null)?', text)
    return tuple(f'"{name}":{value}' if is_fixed(value) else f'"{name}":' for name, value in pairs)


def is_fixed(value: str) -> bool:
    return bool(value) and re.fullmatch(r'"[a-z_-]+"|true|false|null|"\w+/png"', value) is not None


# What differs from one time to the next.
VARIES = [
    (r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f-]*…?", r"[0-9a-f_-]+"),
    (r"\d{4}-\d\d-\d\d \d\d:\d\d", r"\\d{4}-\\d\\d-\\d\\d \\d\\d:\\d\\d"),
    (r"\d+ (s|min|h) ago", r"\\d+ \\w+ ago"),
    (r":8700\b", r":\\d+"),
    (r"…", r".*"),
    (r"\b\d+ jobs for \d+ tokens", r"\\d+ jobs for \\d+ tokens"),
]


def is_told(line: str, said: str) -> bool:
    """The promise stands in what was said; widths of columns and what differs each time set aside."""
    wanted = re.sub(r"\s+", " ", re.sub(r"[┃━╇│]", " ", line)).strip()
    if not wanted or set(line.strip()) <= set("━╇┃│ …"):
        return True
    pattern = re.escape(wanted).replace(r"\ ", " ").replace(r"\-", "-")
    for varying, shape in VARIES:
        pattern = re.sub(varying, shape, pattern)
    flat = re.sub(r"\s+", " ", re.sub(r"[┃━╇│]", " ", said))
    if wanted.startswith('"'):
        pattern, flat = pattern.replace(" ", ""), flat.replace(" ", "")
    return re.search(pattern, flat) is not None
