"""One grammar: `comfyfleet <nouns> <verb>`; and every command that is written anywhere exists."""

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import pytest
import typer
from typer.testing import CliRunner

from comfyfleet.cli import choices
from comfyfleet.cli.groups import GROUPS, OLD_GROUPS
from comfyfleet.cli.main import app
from comfyfleet.dispatch import DispatchStatus, Provider
from comfyfleet.fleet import WorkerStatus
from comfyfleet.notifications import AlertState, ChannelKind
from comfyfleet.tenants import Role, Scope
from comfyfleet.workflows.effects import CREDITS_COST_MAX

ROOT = Path(__file__).parents[2]
ROOT_COMMAND: Any = typer.main.get_command(app)
# What is no collection: one schema, one log, one tool.
SINGULAR = {"db", "audit-log", "comfy"}
VERBS = {
    *("list", "show", "create", "update", "delete", "remove", "put", "set", "export", "use", "apply", "archive"),
    *("activate", "deactivate", "enable", "disable", "publish", "unpublish", "suspend", "resume", "limit", "credit"),
    *("approve", "drain", "undrain", "revoke", "retire", "rotate", "assign", "unassign", "clear", "replay", "verify"),
    *("run", "watch", "cancel", "retry", "download", "start", "pause", "stop", "vote", "reject"),
    *("upgrade", "scale", "check", "forget", "inspect", "doctor", "pipeline", "acknowledge", "import", "close"),
}
WRITTEN = [
    *("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md"),
    *("docs", "src", "web/src", "deploy", "examples", "tools"),
]
NOUNS = "|".join([*GROUPS, *OLD_GROUPS])
SPOKEN = {".md", ".py", ".ts", ".tsx", ".yaml", ".yml", ".toml", ".service", ".sh", ""}


def leaves(command: Any, words: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    if not hasattr(command, "list_commands"):
        yield words
        return
    for name in command.list_commands(None):
        yield from leaves(command.get_command(None, name), (*words, name))


LEAVES = sorted(leaves(ROOT_COMMAND))


def test_collections_are_plural_and_what_follows_is_a_verb() -> None:
    assert {name for name in GROUPS if not name.endswith("s")} == SINGULAR
    nouns = [words for words in LEAVES if len(words) == 2 and words[1].split("-")[0] not in VERBS]
    assert nouns == []
    listed = {words[0] for words in LEAVES if words[1:] == ("list",)}
    assert set(GROUPS) - SINGULAR - listed == {"wallets"}, "every collection has a list; a wallet is shown by its user"


@pytest.mark.parametrize("option", ["-h", "--help"])
def test_each_command_helps(option: str) -> None:
    groups = {words[:1] for words in LEAVES} | {()}
    for words in [*groups, *LEAVES]:
        said = CliRunner().invoke(app, [*words, option])
        assert said.exit_code == 0, (words, said.output)
        assert "Usage:" in said.output, words


OLD = [
    *((old, *words[1:]) for old, new in OLD_GROUPS.items() for words in LEAVES if words[0] == new),
    *((name, old) for name, group in GROUPS.items() for old in group.old_verbs),
    ("user", "passwd"),
]


@pytest.mark.parametrize("words", OLD, ids=" ".join)
def test_an_old_spelling_works_and_says_the_new_one_on_stderr(words: tuple[str, ...]) -> None:
    said = CliRunner().invoke(app, [*words, "--help"])
    assert said.exit_code == 0, said.output
    new = " ".join(renamed(words))
    assert f"Usage: comfyfleet {new}" in " ".join(said.stdout.split()).replace("root", "comfyfleet")
    assert "note: " in said.stderr
    assert said.stdout.count("note: ") == 0
    assert words not in LEAVES, "an old spelling is in no list"


def renamed(words: tuple[str, ...]) -> tuple[str, ...]:
    group = OLD_GROUPS.get(words[0], words[0])
    old_verbs = GROUPS[group].old_verbs if group in GROUPS else {}
    return (group, *(old_verbs.get(each, each) for each in words[1:]))


def test_help_loads_nothing_that_only_running_needs() -> None:
    asks = """
import sys
from typer.testing import CliRunner
from comfyfleet.cli.groups import GROUPS
from comfyfleet.cli.main import app
for name in GROUPS:
    for words in ([name, "-h"], [name, "list", "-h"], [name, "create", "-h"]):
        CliRunner().invoke(app, words)
print(*sys.modules)
"""
    said = subprocess.run([sys.executable, "-c", asks], capture_output=True, text=True, timeout=120, check=True)
    heavy = {"sqlalchemy", "fastapi", "alembic", "numpy", "comfyfleet.house", "comfyfleet.settings"}
    assert heavy & set(said.stdout.split()) == set()


def test_choices_are_those_of_their_enumerations() -> None:
    for spelt, enumeration in (
        (choices.RoleChoice, Role),
        (choices.WorkerStatusChoice, WorkerStatus),
        (choices.DispatchStatusChoice, DispatchStatus),
        (choices.ProviderChoice, Provider),
        (choices.AlertStateChoice, AlertState),
        (choices.ChannelKindChoice, ChannelKind),
    ):
        assert list(get_args(spelt)) == [str(each) for each in enumeration]
    assert list(choices.ScopeChoice) == [str(each) for each in Scope]
    assert choices.CREDITS_COST_MAX == CREDITS_COST_MAX


def completion(shell: str, *words: str) -> str:
    variables = {
        "bash": {"COMP_WORDS": " ".join(words), "COMP_CWORD": str(len(words) - 1)},
        "zsh": {"_TYPER_COMPLETE_ARGS": " ".join(words)},
    }[shell]
    environment = {"PATH": "/usr/bin:/bin", "_COMFYFLEET_COMPLETE": f"complete_{shell}", **variables}
    start = "import sys; sys.argv[0] = 'comfyfleet'; from comfyfleet.cli.main import run; run()"
    done = subprocess.run([sys.executable, "-c", start], env=environment, capture_output=True, text=True, check=False)
    return done.stdout


@pytest.mark.parametrize("shell", ["bash", "zsh"])
def test_a_shell_completes_groups_verbs_and_options(shell: str) -> None:
    assert re.findall(r"work\w+|wallets?", completion(shell, "comfyfleet", "w"))[:1] == ["worker"]
    assert "wallets" in completion(shell, "comfyfleet", "wall")
    assert "drain" in completion(shell, "comfyfleet", "workers", "dr")
    assert "--fleet" in completion(shell, "comfyfleet", "workers", "list", "--fl")
    assert completion(shell, "comfyfleet", "tenants", "li").strip() not in ("", "_arguments '*: :(())'")
    assert "workers" in completion(shell, "comfyfleet", "workers"), "no note, no error while completing"


def test_a_real_bash_completes(tmp_path: Path) -> None:
    bash = shutil.which("bash")
    assert bash is not None
    (tmp_path / "comfyfleet").write_text(
        f"#!{sys.executable}\nimport sys\nsys.argv[0] = 'comfyfleet'\nfrom comfyfleet.cli.main import run\nrun()\n"
    )
    (tmp_path / "comfyfleet").chmod(0o755)
    script = (
        'eval "$(_COMFYFLEET_COMPLETE=source_bash comfyfleet)"\n'
        "COMP_WORDS=(comfyfleet fleets un) COMP_CWORD=2\n"
        '_comfyfleet_completion comfyfleet; echo "${COMPREPLY[@]}"\n'
    )
    environment = {"PATH": f"{tmp_path}:/usr/bin:/bin"}
    done = subprocess.run([bash, "-c", script], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "unassign"


def spoken() -> Iterator[tuple[str, str]]:
    """Every command that a page, a message or the web app names: where, and its words after `comfyfleet`."""
    # Decisions are history, groups.py holds the old spellings, the preface of the reference page names two.
    history = ("docs/decisions/", "src/comfyfleet/cli/groups.py", "tools/snapshots.py")
    prefaces = ("Spellings of earlier releases", "old spelling of")
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", *WRITTEN]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    for name in listed.stdout.splitlines():
        path = ROOT / name
        if name.startswith(history) or path.suffix not in SPOKEN or not path.is_file():
            continue
        text = path.read_text(encoding="utf-8", errors="ignore")
        text = "\n".join(line for line in text.splitlines() if not any(each in line for each in prefaces))
        for found in re.finditer(r"comfyfleet((?: [a-z][a-z-]*[a-z])+)", text):
            yield name, found[1].strip()
        if path.suffix == ".md":
            # In running text a group stands without the program: `workers drain`.
            for found in re.finditer(rf"`((?:{NOUNS}) [a-z][a-z-]*[a-z])\b", text):
                yield name, found[1]


def fault(said: str) -> str | None:
    words = said.split()
    if words[0] in OLD_GROUPS and len(words) > 1:
        return "an old spelling"
    if words[0] not in GROUPS:
        return None  # a command that runs something, or prose: `comfyfleet is up`
    if len(words) == 1:
        return None
    return None if any(leaf[:2] == (words[0], words[1]) for leaf in LEAVES) else "no such command"


def test_every_command_that_is_named_anywhere_exists_in_its_new_spelling() -> None:
    named = list(spoken())
    assert len(named) > 150, "the search finds what it looks for"
    assert sorted({(where, said) for where, said in named if fault(said)}) == []


@pytest.mark.parametrize("said", ["tenant create", "workflows add", "runs jobs RUN", "workers fly", "wallet show"])
def test_the_search_sees_what_is_wrong(said: str) -> None:
    assert fault(said.lower()) is not None
