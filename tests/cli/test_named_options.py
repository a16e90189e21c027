"""No text of the product names an option that its command does not have.

A text outside the CLI names the command with the option, for its reader may stand anywhere: `comfyfleet worker --home`.
A text of the CLI may name an option alone: then each command that says the text has it.
"""

import ast
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import typer

from comfyfleet.cli.main import app

SOURCE = Path(__file__).parents[2] / "src" / "comfyfleet"
WEB = Path(__file__).parents[2] / "web" / "src"
Words = tuple[str, ...]
Options = Mapping[Words, frozenset[str]]
OPTION = re.compile(r"(?<![\w-])--[a-z][a-z0-9-]*")
# Up to where a command can reach in a sentence: its end, or a closing mark.
COMMAND = re.compile(r"\bcomfyfleet ((?:[^`'\"<.,;:()]|\.(?=\w))*)")
ONLY_OPTIONS = re.compile(r"[-\w/,= ]*")
# Of ComfyUI, in texts on ComfyUI.
OF_COMFYUI = {"--listen", "--enable-cors-header", "--enable-assets"}
ON_COMFYUI = {"comfy/doctor.py", "comfy/errors.py", "engine/routes/facts.py"}
# Parts of commands: which ones say what is written there.
SPEAKS_FOR: dict[str, list[Words]] = {
    "cli/comfy/run.py": [("comfy", "run")],
    "cli/comfy/values.py": [("comfy", "run")],
    "cli/demo.py": [("demo",), ("demo", "pipeline")],
    "cli/engine.py": [("engine",)],
    "cli/jobs_run.py": [("jobs", "run")],
    "cli/serve.py": [("serve",), ("up",)],
    "cli/up/autoscale.py": [("up",)],
    "cli/workflow_files.py": [("workflows", "create")],
}


class Text(NamedTuple):
    where: str
    line: int
    said: str


def options_of(command: Any, words: Words = ()) -> Iterator[tuple[Words, frozenset[str]]]:
    spelt = {each for parameter in command.params for each in (*parameter.opts, *parameter.secondary_opts)}
    yield words, frozenset(spelt | {"--help"})
    for name in command.list_commands(None) if hasattr(command, "list_commands") else ():
        yield from options_of(command.get_command(None, name), (*words, name))


def modules_of(command: Any, words: Words = ()) -> Iterator[tuple[str, Words]]:
    if command.callback is not None:
        yield command.callback.__module__.removeprefix("comfyfleet.").replace(".", "/") + ".py", words
    for name in command.list_commands(None) if hasattr(command, "list_commands") else ():
        yield from modules_of(command.get_command(None, name), (*words, name))


ROOT: Any = typer.main.get_command(app)
OPTIONS: Options = dict(options_of(ROOT))


def _speakers() -> dict[str, list[Words]]:
    found: dict[str, list[Words]] = {}
    for module, words in modules_of(ROOT):
        found.setdefault(module, []).append(words)
    return found


SPEAKERS = _speakers()


def _users_of(where: str) -> list[Words]:
    """The commands of those modules of the CLI that import this one."""
    if not where.startswith("cli/"):
        return []
    name = where.removesuffix(".py").replace("/", ".")
    package, _, module = name.rpartition(".")
    told = re.compile(rf"from comfyfleet\.({re.escape(name)} import|{re.escape(package)} import .*\b{module}\b)")
    return [words for each, spoken in SPEAKERS.items() if told.search((SOURCE / each).read_text()) for words in spoken]


def texts_of(path: Path) -> Iterator[Text]:
    """Whatever may be said: every string but docstrings; one with values in it as a whole."""
    where, tree = path.relative_to(SOURCE).as_posix(), ast.parse(path.read_text())
    left_out = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            left_out |= {id(part) for part in node.values}
            parts = (str(part.value) if isinstance(part, ast.Constant) else "{}" for part in node.values)
            yield Text(where, node.lineno, "".join(parts))
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in left_out:
            yield Text(where, node.lineno, node.value)


def all_texts() -> list[Text]:
    python = [text for path in sorted(SOURCE.rglob("*.py")) for text in texts_of(path)]
    return [each for each in python if OPTION.search(each.said) and not ONLY_OPTIONS.fullmatch(each.said)]


def command_in(said: str) -> Words | None:
    words: Words = ()
    for word in said.split():
        if (*words, word) not in OPTIONS:
            break
        words = (*words, word)
    return words or None


def faults_of(text: Text, options: Options) -> list[str]:
    """What is named and does not exist, or is named without its command."""
    faults, left = [], text.said
    for found in COMMAND.finditer(text.said):
        words = command_in(found[1])
        if words is None:
            continue
        named = OPTION.findall(found[1])
        faults += [f"`{' '.join(words)}` has no {each}" for each in named if each not in options[words] | options[()]]
        left = left[: found.start()] + " " * len(found[0]) + left[found.end() :]
    speakers = SPEAKS_FOR.get(text.where) or SPEAKERS.get(text.where) or _users_of(text.where)
    for each in OPTION.findall(left):
        if text.where in ON_COMFYUI and each in OF_COMFYUI:
            continue
        has = [each in options[words] for words in speakers]
        # A module of many commands has texts of each: there one of them has it.
        if not has or not (all(has) if text.where in SPEAKS_FOR else any(has)):
            said_by = ", ".join(" ".join(words) for words in speakers)
            faults.append(f"{each} of {said_by}" if said_by else f"{each} without its command")
    return faults


TEXTS = all_texts()


def faults(texts: list[Text], options: Options = OPTIONS) -> list[str]:
    return [f"{text.where}:{text.line}: {fault}" for text in texts for fault in faults_of(text, options)]


def test_every_option_that_a_text_names_exists_where_it_says() -> None:
    assert len(TEXTS) > 15, "the search finds what it looks for"
    assert faults(TEXTS) == []


def test_what_the_web_app_writes_of_options_is_so() -> None:
    pages = [path for path in sorted(WEB.rglob("*.ts*")) if "client" not in path.relative_to(WEB).parts]
    lines = [Text(path.name, at, line) for path in pages for at, line in enumerate(path.read_text().splitlines())]
    assert len(pages) > 50
    assert faults([each for each in lines if command_in(each.said.partition("comfyfleet ")[2])]) == []


def test_options_of_comfyui_are_none_of_ours() -> None:
    """Else one of ours could be renamed, and its texts would pass for ComfyUI's."""
    assert OF_COMFYUI & frozenset[str]().union(*OPTIONS.values()) == set()


def named_options() -> set[str]:
    everywhere = frozenset[str]().union(*OPTIONS.values())
    return {each for text in TEXTS for each in OPTION.findall(text.said)} & everywhere


@pytest.mark.parametrize("option", sorted(named_options()))
def test_an_option_that_is_renamed_is_seen(option: str) -> None:
    renamed = {words: spelt - {option} | {f"{option}-anew"} for words, spelt in OPTIONS.items()}
    assert faults(TEXTS, renamed) != []


def test_a_command_that_lacks_the_option_is_seen() -> None:
    """`comfy/errors.py` named --object-info to whoever ran `comfy run`, which has no such option."""
    alone = Text("comfy/errors.py", 1, "Convert it with the node classes of a server (--object-info URL).")
    other = alone._replace(said="Convert it: `comfyfleet comfy run FILE --object-info URL`.")
    assert faults([alone]) == ["comfy/errors.py:1: --object-info without its command"]
    assert faults([other]) == ["comfy/errors.py:1: `comfy run` has no --object-info"]
