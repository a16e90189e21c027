"""Is what a page shows what was printed? Line by line, with what differs each time set aside."""

import re
from collections.abc import Iterator

# What differs from one time to the next, and its shape. An ellipsis stands for what the page leaves out.
VARIES = (
    (r"[0-9a-f]{8}-[0-9a-f-]*…", r"[0-9a-f]{8}-[0-9a-f-]+"),
    (r"\d{4}-\d\d-\d\d \d\d:\d\d", r"\d{4}-\d\d-\d\d \d\d:\d\d"),
    (r"_\d{14}\.", r"_\d{14}\."),
    (r"\b\d+\.\d s\b", r"(?:under )?[\d.]+ (?:s|min)"),
    (r"\b(?:\d+ (?:s|min|h) ago|just now)", r"(?:\d+ (?:s|min|h) ago|just now)"),
    (r"\bin [\d.]+ (?:s|min|h)\b", r"in [\d.]+ (?:s|min|h)"),
    (r"(?<=127\.0\.0\.1):\d+", r":\d+"),
    (r"(?:(?<=cf_)|(?<=cfs_)|(?<=whsec_)|(?<=\"))[\w.-]{4,}…", r"[\w.+/=-]+"),
    (r"…", r".*"),
)
# An id that the page shows stands for one id from its first place to its last.
ID = r"\b(?:[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|(?=[0-9a-f]*[0-9])[0-9a-f]{12}|[0-9a-f]{64})\b"
TOKEN = re.compile("|".join([f"(?P<id>{ID})", *(f"(?P<v{number}>{seen})" for number, (seen, _) in enumerate(VARIES))]))
FRAME = "╭╮╰╯─━┃╇│┏┓┗┛┡┩├┤┬┴┼"
Ids = dict[str, str]


def missing(promised: str, said: str, ids: Ids) -> list[str]:
    """Promised lines that were not printed, and printed lines that were not promised. Adds to `ids` what it learns."""
    if promised.lstrip().startswith("{"):
        return _missing_in_json(promised, said, ids)
    printed = [line for line in map(plain, said.splitlines()) if line]
    wrong, gap = [], False
    for line in filter(None, map(plain, promised.splitlines())):
        if line == "…":
            gap = True
            continue
        found = next((at for at, each in enumerate(printed) if is_told(line, each, ids)), None)
        if found is None:
            wrong.append(line)
            continue
        wrong += [] if gap else [f"not on the page: {each}" for each in printed[:found]]
        printed, gap = printed[found + 1 :], False
    return wrong + ([] if gap else [f"not on the page: {each}" for each in printed])


def plain(line: str) -> str:
    return re.sub(r"\s+", " ", re.sub(f"[{FRAME}]", " ", line)).strip()


def is_told(line: str, said: str, ids: Ids) -> bool:
    if (match := re.fullmatch(pattern(line, ids), said)) is None:
        return False
    ids |= {shown: match[f"id{number}"] for number, shown in enumerate(_new_ids(line, ids))}
    return True


def pattern(line: str, ids: Ids) -> str:
    made, at, new = "", 0, _new_ids(line, ids)
    seen: set[str] = set()
    for token in TOKEN.finditer(line):
        made += re.escape(line[at : token.start()])
        at = token.end()
        if (shown := token["id"]) is None:
            made += next(shape for number, (_, shape) in enumerate(VARIES) if token[f"v{number}"] is not None)
        elif shown in ids:
            made += re.escape(ids[shown])
        elif shown in seen:
            made += f"(?P=id{new.index(shown)})"
        else:
            seen.add(shown)
            made += f"(?P<id{new.index(shown)}>{ID})"
    return made + re.escape(line[at:])


def _new_ids(line: str, ids: Ids) -> list[str]:
    return list(dict.fromkeys(each["id"] for each in TOKEN.finditer(line) if each["id"] and each["id"] not in ids))


def real_ids(typed: str, ids: Ids) -> str:
    """What is typed, with the ids that were printed instead of those on the page; also their first letters."""
    for shown, real in ids.items():
        typed = typed.replace(shown, real).replace(f" {shown[:8]}\n", f" {real[:8]}\n")
    return typed


PAIR = re.compile(r'"(\w[\w.:-]*)":\s*("(?:[^"\\]|\\.)*"|-?[\d.]+|true|false|null)?')


def _missing_in_json(promised: str, said: str, ids: Ids) -> list[str]:
    wanted, got = list(_pairs(promised)), list(_pairs(said))
    left_out = re.search(r'…(?=\s*[}\],"])(?!")', re.sub(PAIR, "", promised)) is not None
    wrong, at = [], 0
    for name, value in wanted:
        found = next((i for i in range(at, len(got)) if got[i][0] == name and _is_value(value, got[i][1], ids)), None)
        if found is None:
            wrong.append(f"{name}: {value}")
            continue
        wrong += [] if left_out else [f"not on the page: {name}: {value}" for name, value in got[at:found]]
        at = found + 1
    return wrong + ([] if left_out else [f"not on the page: {name}: {value}" for name, value in got[at:]])


def _pairs(text: str) -> Iterator[tuple[str, str]]:
    for name, value in PAIR.findall(text):
        yield name, re.sub(r"\s+", " ", value)


def _is_value(wanted: str, got: str, ids: Ids) -> bool:
    """A number with odd decimals is a measurement: any number will do."""
    if re.fullmatch(r"\d+\.\d*[1-9]", wanted):
        return re.fullmatch(r"[\d.]+", got) is not None
    return is_told(wanted, got, ids)
