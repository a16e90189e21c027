"""The looking process, taken over by a file: what it may still do, and what its parent makes of what it says.

The real process is started by the real parent; its reader of pictures is replaced by code that attacks.
"""

import errno
import os
import platform
import re
import signal
import struct
import sys
import textwrap
from itertools import zip_longest
from pathlib import Path
from typing import Any

import pytest
import structlog

from comfyfleet.bootstrap import protect_process, require_media_sandbox
from comfyfleet.kernel.errors import MediaRefused, MediaSandboxMissing
from comfyfleet.media import probe as probing
from comfyfleet.media import seccomp
from comfyfleet.media.channel import BLOCK_BYTES, POSTER_BYTES_MAX, frame, message
from comfyfleet.media.model import MediaRules
from comfyfleet.media.probe import HARMFUL, Prober
from comfyfleet.settings import Settings, SettingsError
from tests.made_media import a_picture

PATIENT = MediaRules(probe_s=60)
PICTURE = a_picture()
HEADERS = Path("/usr/include")
COLUMN = seccomp.MACHINES[platform.machine()].column

# Runs in the looking process instead of the reader of pictures: `file` is what it reads from, FOLDER the test's own.
PLANT = """
import ctypes, mmap, os, socket, threading
import comfyfleet.media.pictures as pictures
from comfyfleet.media.channel import frame, message
from comfyfleet.media.model import Looked, Unfit
from comfyfleet.media.seccomp import _call
libc = ctypes.CDLL(None, use_errno=True)
FOLDER, PARENT = {folder!r}, {parent}

def checked(result):
    if result == -1:
        raise OSError(ctypes.get_errno(), "refused")
    return result

def attack(file, family, rules):
{attack}

pictures.look_at_picture = attack
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "victim").write_text("whole")
    return tmp_path


async def look_with(attack: str, folder: Path, monkeypatch: pytest.MonkeyPatch, rules: MediaRules = PATIENT) -> Any:
    planted = PLANT.format(
        folder=str(folder), parent=os.getpid(), attack=textwrap.indent(textwrap.dedent(attack), "    ")
    )
    (folder / "sitecustomize.py").write_text(planted)
    monkeypatch.setattr(sys, "path", [str(folder), *sys.path])

    async def read(offset: int, count: int) -> bytes:
        return PICTURE[offset : offset + count]

    return await Prober(rules).probe(read, size_bytes=len(PICTURE), media_type="image/png", field="file")


async def said_by(attack: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """What the attack raises as `Unfit` comes back as the refusal."""
    with pytest.raises(MediaRefused) as refused:
        await look_with(attack, folder, monkeypatch)
    return str(refused.value.facts["problem"])


# ── what kills it ───────────────────────────────────────────────────────────────────────────

DEADLY = {
    "unlink": "os.unlink(FOLDER + '/victim')",
    "rename": "os.rename(FOLDER + '/victim', FOLDER + '/stolen')",
    "truncate": "os.truncate(FOLDER + '/victim', 0)",
    "chmod": "os.chmod(FOLDER + '/victim', 0o777)",
    "chown": "os.chown(FOLDER + '/victim', 1, 1)",
    "mkdir": "os.mkdir(FOLDER + '/made')",
    "mknod": "os.mkfifo(FOLDER + '/made')",
    "symlink": "os.symlink('/etc/passwd', FOLDER + '/made')",
    "link": "os.link(FOLDER + '/victim', FOLDER + '/made')",
    "kill": "os.kill(PARENT, 0)",
    "process_vm_readv": "libc.process_vm_readv(PARENT, None, 0, None, 0, 0)",
    "ptrace": "libc.ptrace(16, PARENT, 0, 0)",
    "socket": "socket.socket()",
    "socketpair": "socket.socketpair()",
    "connect": "libc.connect(0, None, 0)",
    "execve": "os.execv('/bin/true', ['true'])",
    "mount": "libc.mount(b'none', b'/', b'tmpfs', 0, None)",
    "unshare": "libc.unshare(0x10000000)",
    "setuid": "os.setuid(0)",
    "io_uring_setup": "_call(425, 1, 0)",
    "bpf": f"_call({seccomp.DEADLY['bpf'][COLUMN]}, 0, 0, 0)",
    "keyctl": f"_call({seccomp.DEADLY['keyctl'][COLUMN]}, 0, 0)",
    "memfd_create": "os.memfd_create('x')",
    "pidfd_open": "os.pidfd_open(PARENT)",
    "calls of x32": "_call(0x40000000 + 39)",
}


@pytest.mark.parametrize("name", DEADLY)
async def test_what_only_an_attack_calls_ends_the_process(
    name: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if name == "calls of x32" and platform.machine() != "x86_64":
        pytest.skip("another processor has no x32")
    with structlog.testing.capture_logs() as logged:
        said = await said_by(f"{DEADLY[name]}\nraise Unfit('lived')", folder, monkeypatch)
    assert said == HARMFUL
    assert [each["code"] for each in logged if each["event"] == "media.probe_attacked"] == [-signal.SIGSYS]
    assert (folder / "victim").read_text() == "whole"
    assert not (set(os.listdir(folder)) - {"victim", "sitecustomize.py", "__pycache__"})


# ── what is refused ─────────────────────────────────────────────────────────────────────────

REFUSED = {
    "open": ("os.open(FOLDER + '/victim', os.O_RDONLY)", errno.EPERM),
    "create": ("os.open('/dev/shm/made', os.O_CREAT | os.O_WRONLY)", errno.EPERM),
    "stat": ("os.stat('/etc/passwd')", errno.EPERM),
    "list": ("os.listdir('/')", errno.EPERM),
    "fork": ("os.fork()", errno.EAGAIN),
    "a thread": ("threading.Thread(target=print).start()", "RuntimeError"),
    "pipe": ("os.pipe()", errno.EPERM),
    "dup": ("os.dup(1)", errno.EPERM),
    "read elsewhere": ("os.read(2, 1)", errno.EPERM),
    "write elsewhere": ("os.write(0, b'x')", errno.EPERM),
    "be dumped": ("checked(libc.prctl(4, 1, 0, 0, 0))", errno.EPERM),
    "raise a limit": ("checked(libc.setrlimit(7, bytes(16)))", errno.EPERM),
    "code in memory": ("mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_EXEC)", errno.EPERM),
    "a tgkill": ("checked(libc.tgkill(PARENT, PARENT, 0))", errno.EPERM),
    "wait for a signal": ("checked(libc.pause())", errno.EPERM),
    "ioctl": ("checked(libc.ioctl(1, 0x5413, 0))", errno.EPERM),
}


async def test_everything_else_fails_as_if_the_kernel_had_refused_it(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tries = ", ".join(f"lambda: {code}" for code, _ in REFUSED.values())
    attack = f"""
    said = []
    for attempt in ({tries}):
        try:
            attempt()
            said.append("done")
        except OSError as refused:
            said.append(str(refused.errno))
        except RuntimeError:
            said.append("RuntimeError")
    raise Unfit(" ".join(said))
    """
    said = await said_by(attack, folder, monkeypatch)
    assert dict(zip_longest(REFUSED, said.split())) == {name: str(want) for name, (_, want) in REFUSED.items()}


def children() -> list[str]:
    return Path(f"/proc/{os.getpid()}/task/{os.getpid()}/children").read_text().split()


def facts_of(process: str, name: str) -> str:
    return Path(f"/proc/{process}/{name}").read_text()


async def test_it_is_nobody_and_holds_no_descriptor_no_secret_and_no_right(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COMFYFLEET_SECRET_KEY", "a key that no stranger's file may see")
    seen: dict[str, str] = {}
    content, others = PICTURE, set(children())

    async def read(offset: int, count: int) -> bytes:
        for process in set(children()) - others:
            seen.update({name: facts_of(process, name) for name in ("status", "limits")})
        return content[offset : offset + count]

    await Prober(PATIENT).probe(read, size_bytes=len(content), media_type="image/png", field="file")
    assert re.search(r"^NoNewPrivs:\s+1$", seen["status"], re.MULTILINE)
    assert re.search(r"^Seccomp:\s+2$", seen["status"], re.MULTILINE)
    assert re.search(r"^Threads:\s+1$", seen["status"], re.MULTILINE)
    assert re.search(r"Max processes\s+0\s+0", seen["limits"])
    if os.geteuid() == 0:
        assert re.search(r"^Uid:\s+65534\s+65534\s+65534\s+65534$", seen["status"], re.MULTILINE)
        assert re.search(r"^Gid:\s+65534\s+65534\s+65534\s+65534$", seen["status"], re.MULTILINE)
        assert re.search(r"^Groups:\s*$", seen["status"], re.MULTILINE)
        assert re.search(r"^CapEff:\s+0+$", seen["status"], re.MULTILINE)
    names = await said_by("raise Unfit(' '.join(sorted(os.environ)))", folder, monkeypatch)
    assert "COMFYFLEET_SECRET_KEY" not in names
    dumpable = "raise Unfit(str([libc.prctl(3, 0, 0, 0, 0), ctypes.get_errno()]))"
    assert await said_by(dumpable, folder, monkeypatch) == f"[-1, {errno.EPERM}]"


def test_the_server_cannot_be_read_by_a_process_of_its_user() -> None:
    """In a process of its own: this one must stay readable for the tests."""
    child = os.fork()
    if child == 0:
        protect_process()
        import ctypes

        os._exit(10 + ctypes.CDLL(None).prctl(3, 0, 0, 0, 0))
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 10


# ── what it says ────────────────────────────────────────────────────────────────────────────

LOOKED = {"width": 10, "height": 10, "duration_s": None}
POSTER = b"RIFF\x10\0\0\0WEBPVP8 "
LIES: dict[str, bytes] = {
    "a negative place": message("read", offset=-1, count=10),
    "a negative count": message("read", offset=0, count=-5),
    "nothing to read": message("read", offset=0, count=0),
    "beyond the file": message("read", offset=len(PICTURE), count=1),
    "far beyond": message("read", offset=10**30, count=1),
    "too much at once": message("read", offset=0, count=BLOCK_BYTES + 1),
    "a place that is no number": message("read", offset="0", count=1),
    "a place that is a fraction": message("read", offset=0.5, count=1),
    "no place": message("read", count=1),
    "one word more": message("read", offset=0, count=1, also=1),
    "an unknown word": message("write", offset=0, count=1),
    "ready again": message("ready", unconfined=None),
    "scores for a look": message("scored", sharpness=1, exposure=1, hash_high=1, hash_low=1),
    "no object": frame(b"[1, 2]"),
    "no JSON": frame(b"{"),
    "no text": frame(b"\xff\xfe\x00"),
    "deep": frame(b"[" * 16_000),
    "nothing": frame(b""),
    "a frame without end": struct.pack(">I", 2**32 - 1),
    "a huge number": frame(b'{"says":"looked","width":' + b"9" * 15_000 + b',"height":1,"duration_s":null}'),
    "width -1": message("looked", **{**LOOKED, "width": -1}) + frame(POSTER),
    "width true": message("looked", **{**LOOKED, "width": True}) + frame(POSTER),
    "too many pixels": message("looked", **{**LOOKED, "width": 65_000, "height": 65_000}) + frame(POSTER),
    "NaN": message("looked", **{**LOOKED, "duration_s": float("nan")}) + frame(POSTER),
    "infinity": message("looked", **{**LOOKED, "duration_s": float("inf")}) + frame(POSTER),
    "a picture that lasts": message("looked", **{**LOOKED, "duration_s": 1.0}) + frame(POSTER),
    "a poster that is a page": message("looked", **LOOKED) + frame(b"<html><script>"),
    "no poster": message("looked", **LOOKED) + frame(b""),
    "a poster without end": message("looked", **LOOKED) + struct.pack(">I", POSTER_BYTES_MAX + 1),
    "a refusal without words": message("refused", text=""),
    "a refusal of a thousand words": message("refused", text="word " * 1000),
}


async def test_each_lie_refuses_the_file_and_raises_nothing_else(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, lie in LIES.items():
        with structlog.testing.capture_logs() as logged:
            said = await said_by(f"os.write(1, {lie!r})\nfile._answer.read(1)\nos._exit(0)", folder, monkeypatch)
        assert said == HARMFUL, name
        assert [each["event"] for each in logged] == ["media.probe_misbehaved"], name


async def test_reading_without_end_comes_to_an_end(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    endless = """
    while True:
        file._blocks.clear()
        file.seek(0)
        file.read(1)
    """
    assert "too much" in await said_by(endless, folder, monkeypatch)


async def test_words_for_people_hold_no_escapes(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert await said_by(r"raise Unfit('\x1b[31mred\n\x00')", folder, monkeypatch) == " [31mred  "


async def test_a_whole_answer_is_taken(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The other side of the lies: this very form is right."""
    honest = message("looked", **LOOKED) + frame(POSTER)
    looked = await look_with(f"os.write(1, {honest!r})\nos._exit(0)", folder, monkeypatch)
    assert (looked.width, looked.height, looked.poster) == (10, 10, POSTER)


# ── the filter ──────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("column", "path"),
    [(0, "x86_64-linux-gnu/asm/unistd_64.h"), (1, "asm-generic/unistd.h")],
    ids=["x86_64", "aarch64"],
)
def test_the_numbers_are_those_of_the_kernels_headers(column: int, path: str) -> None:
    if not (HEADERS / path).exists():
        pytest.skip("the kernel's headers are not installed here")
    kernels = dict(re.findall(r"#define __NR(?:3264)?_(\w+) (\d+)", (HEADERS / path).read_text()))
    ours = {**seccomp.ALLOWED, **seccomp.DEADLY, **{name: each for name, (each, _) in seccomp.ANSWERED.items()}}
    ours |= {"read": seccomp.READ, "write": seccomp.WRITE, "mmap": seccomp.MMAP, "mprotect": seccomp.MPROTECT}
    wrong = {
        name: (numbers[column], kernels.get(name))
        for name, numbers in ours.items()
        if numbers[column] is not None and str(numbers[column]) != kernels.get(name)
    }
    assert not wrong


def verdict(machine: seccomp.Machine, number: int | None, *arguments: int, arch: int | None = None) -> int:
    """Runs the filter as the kernel would."""
    assert number is not None
    data = struct.pack("=IIQ6Q", number, arch or machine.audit_arch, 0, *arguments, *[0] * (6 - len(arguments)))
    steps, at, loaded = seccomp.program(machine), 0, 0
    while True:
        code, if_true, if_false, value = steps[at]
        at += 1
        if code == seccomp.RETURN:
            return value
        if code == seccomp.LOAD:
            (loaded,) = struct.unpack_from("=I", data, value)
        else:
            holds = loaded == value if code == seccomp.EQUAL else bool(loaded & value)
            at += if_true if holds else if_false


@pytest.mark.parametrize("machine", seccomp.MACHINES.values(), ids=seccomp.MACHINES)
def test_the_filter_decides_the_same_on_both_processors(machine: seccomp.Machine) -> None:
    column = machine.column
    read, write, mmapped = seccomp.READ[column], seccomp.WRITE[column], seccomp.MMAP[column]
    refused = seccomp.ERRNO | errno.EPERM
    assert [verdict(machine, read, fd) for fd in (0, 1, 3)] == [seccomp.ALLOW, refused, refused]
    assert [verdict(machine, write, fd) for fd in (0, 1, 2, 3)] == [refused, seccomp.ALLOW, seccomp.ALLOW, refused]
    assert [verdict(machine, mmapped, 0, 0, prot) for prot in (3, 4, 7)] == [seccomp.ALLOW, refused, refused]
    assert {verdict(machine, each[column]) for each in seccomp.ALLOWED.values()} == {seccomp.ALLOW}
    deadly = [each[column] for each in seccomp.DEADLY.values() if each[column] is not None]
    assert {verdict(machine, each) for each in deadly} == {seccomp.KILL}
    assert verdict(machine, 9999) == refused
    assert verdict(machine, read, 0, arch=0x40000003) == seccomp.KILL, "calls of another processor"


# ── where there is no seccomp ───────────────────────────────────────────────────────────────


@pytest.fixture
def without_seccomp(folder: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The process comes up on a processor for which there is no list."""
    monkeypatch.setattr(probing, "why_none", lambda: "no list of system calls for riscv64")
    return "from comfyfleet.media import seccomp\nseccomp.MACHINES.clear()\n"


@pytest.mark.parametrize("required", [True, False])
async def test_without_seccomp_production_looks_at_nothing(
    required: bool, folder: Path, monkeypatch: pytest.MonkeyPatch, without_seccomp: str
) -> None:
    rules = MediaRules(probe_s=60, requires_sandbox=required)
    (folder / "sitecustomize.py").write_text(without_seccomp)
    monkeypatch.setattr(sys, "path", [str(folder), *sys.path])

    async def read(offset: int, count: int) -> bytes:
        return PICTURE[offset : offset + count]

    looking = Prober(rules).probe(read, size_bytes=len(PICTURE), media_type="image/png", field="file")
    if not required:
        assert (await looking).width == 120
        return
    with pytest.raises(MediaSandboxMissing):
        await looking


@pytest.mark.usefixtures("without_seccomp")
def test_a_server_in_production_does_not_start_without_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class House:
        prober = Prober(PATIENT)

    assert House.prober.trouble() == "media_sandbox_missing"
    trial = Settings(home=tmp_path)
    with structlog.testing.capture_logs() as logged:
        require_media_sandbox(House, trial)  # type: ignore[arg-type]
    assert [each["event"] for each in logged] == ["media.no_sandbox"]
    with pytest.raises(SettingsError, match="seccomp"):
        require_media_sandbox(House, trial.model_copy(update={"mode": "production"}))  # type: ignore[arg-type]
