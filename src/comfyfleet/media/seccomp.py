"""Which system calls the looking process may still make: a seccomp filter, written as BPF and installed by ctypes.

An allow-list. What decoders were seen to need is allowed, as it is listed; what only an attack would call kills the
process at once, so that the parent logs it; everything else fails with an errno, as if the kernel had refused it.
`docs/explanation/media.md` shows the result as a table.
"""

import ctypes
import errno
import mmap
import os
import struct
from typing import NamedTuple


class Machine(NamedTuple):
    """A processor's audit architecture, and the column of its numbers in the tables below."""

    audit_arch: int
    column: int
    seccomp: int
    prctl: int


MACHINES = {
    "x86_64": Machine(0xC000003E, column=0, seccomp=317, prctl=157),
    "aarch64": Machine(0xC00000B7, column=1, seccomp=277, prctl=167),
}
# On x86_64 the same processor speaks a second table of calls (x32), marked by this bit.
X32_BIT = 0x40000000

# Name: numbers on x86_64 and aarch64; None where the machine has no such call. The frequent ones first.
ALLOWED: dict[str, tuple[int | None, int | None]] = {
    "futex": (202, 98),
    "brk": (12, 214),
    "munmap": (11, 215),
    "mremap": (25, 216),
    "madvise": (28, 233),
    "rt_sigprocmask": (14, 135),
    "rt_sigaction": (13, 134),
    "rt_sigreturn": (15, 139),
    "sigaltstack": (131, 132),
    "restart_syscall": (219, 128),
    "clock_gettime": (228, 113),
    "clock_getres": (229, 114),
    "gettimeofday": (96, 169),
    "getrandom": (318, 278),
    "sched_yield": (24, 124),
    "sched_getaffinity": (204, 123),
    "getpid": (39, 172),
    "gettid": (186, 178),
    "exit": (60, 93),
    "exit_group": (231, 94),
}
READ, WRITE = (0, 63), (1, 64)
MMAP, MPROTECT = (9, 222), (10, 226)
# A library that wants a thread learns in the usual way that it gets none.
ANSWERED: dict[str, tuple[tuple[int | None, int | None], int]] = {
    "clone": ((56, 220), errno.EAGAIN),
    "clone3": ((435, 435), errno.ENOSYS),
}
DEADLY: dict[str, tuple[int | None, int | None]] = {
    "execve": (59, 221),
    "execveat": (322, 281),
    "ptrace": (101, 117),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "pidfd_open": (434, 434),
    "pidfd_getfd": (438, 438),
    "pidfd_send_signal": (424, 424),
    "kill": (62, 129),
    "socket": (41, 198),
    "socketpair": (53, 199),
    "connect": (42, 203),
    "bind": (49, 200),
    "listen": (50, 201),
    "accept": (43, 202),
    "sendto": (44, 206),
    "sendmsg": (46, 211),
    "recvmsg": (47, 212),
    "mount": (165, 40),
    "umount2": (166, 39),
    "pivot_root": (155, 41),
    "chroot": (161, 51),
    "setns": (308, 268),
    "unshare": (272, 97),
    "bpf": (321, 280),
    "io_uring_setup": (425, 425),
    "io_uring_enter": (426, 426),
    "keyctl": (250, 219),
    "add_key": (248, 217),
    "request_key": (249, 218),
    "perf_event_open": (298, 241),
    "userfaultfd": (323, 282),
    "init_module": (175, 105),
    "finit_module": (313, 273),
    "kexec_load": (246, 104),
    "memfd_create": (319, 279),
    "unlink": (87, None),
    "unlinkat": (263, 35),
    "rename": (82, None),
    "renameat": (264, 38),
    "renameat2": (316, 276),
    "truncate": (76, 45),
    "ftruncate": (77, 46),
    "chmod": (90, None),
    "fchmod": (91, 52),
    "fchmodat": (268, 53),
    "chown": (92, None),
    "fchown": (93, 55),
    "fchownat": (260, 54),
    "mkdir": (83, None),
    "mkdirat": (258, 34),
    "symlink": (88, None),
    "symlinkat": (266, 36),
    "link": (86, None),
    "linkat": (265, 37),
    "mknod": (133, None),
    "mknodat": (259, 33),
    "setuid": (105, 146),
    "setresuid": (117, 147),
    "process_madvise": (440, 440),
}

# BPF: load a word of the call's data, jump if equal, jump if any bit is set, return.
LOAD, EQUAL, BITS, RETURN = 0x20, 0x15, 0x45, 0x06
NUMBER_AT, ARCH_AT, ARGUMENTS_AT = 0, 4, 16
KILL, ALLOW, ERRNO = 0x80000000, 0x7FFF0000, 0x00050000
SET_MODE_FILTER, GET_ACTION_AVAILABLE = 1, 2
EVERY_THREAD = 1
PR_SET_NO_NEW_PRIVS, PR_SET_DUMPABLE = 38, 4

Step = tuple[int, int, int, int]


class NoSeccomp(Exception):
    """This kernel or processor has no seccomp filter for us."""


def why_none() -> str | None:
    """None when filters can be installed here; otherwise the reason in words. Changes nothing."""
    if (machine := MACHINES.get(os.uname().machine)) is None:
        return f"no list of system calls for {os.uname().machine} (only {', '.join(MACHINES)})"
    action = ctypes.c_uint32(KILL)
    if _call(machine.seccomp, GET_ACTION_AVAILABLE, 0, ctypes.addressof(action)) != 0:
        return f"the kernel offers no seccomp filters ({os.strerror(ctypes.get_errno())})"
    return None


def install() -> None:
    """For this process, for good: no privilege can be gained and only listed calls work. Raises `NoSeccomp`."""
    if (machine := MACHINES.get(os.uname().machine)) is None:
        raise NoSeccomp(why_none())
    steps = b"".join(struct.pack("=HBBI", *step) for step in program(machine))
    code = ctypes.create_string_buffer(steps, len(steps))
    # struct sock_fprog: the number of steps, and where they are.
    told = ctypes.create_string_buffer(struct.pack("@HP", len(steps) // 8, ctypes.addressof(code)))
    if _call(machine.prctl, PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0:
        raise NoSeccomp(f"no_new_privs was refused ({os.strerror(ctypes.get_errno())})")
    if _call(machine.seccomp, SET_MODE_FILTER, EVERY_THREAD, ctypes.addressof(told)) != 0:
        raise NoSeccomp(f"the filter was refused ({os.strerror(ctypes.get_errno())})")


def forbid_dumps() -> bool:
    """No core file, and no process of the same user can attach to this one or read its memory. False: refused."""
    machine = MACHINES.get(os.uname().machine)
    return machine is not None and _call(machine.prctl, PR_SET_DUMPABLE, 0, 0, 0, 0) == 0


def program(machine: Machine) -> list[Step]:
    """The filter. Decided by the call's number; four calls also by an argument."""
    column = machine.column
    steps = [(LOAD, 0, 0, ARCH_AT), (EQUAL, 1, 0, machine.audit_arch), _return(KILL), (LOAD, 0, 0, NUMBER_AT)]
    if column == 0:
        steps += [(BITS, 0, 1, X32_BIT), _return(KILL)]
    # Low word of an argument: both machines are little-endian, and these arguments are ints for the kernel.
    steps += _if_number(READ[column], [_load(0), (EQUAL, 0, 1, 0), _return(ALLOW), _refuse(errno.EPERM)])
    steps += _if_number(
        WRITE[column],
        [_load(0), (EQUAL, 1, 0, 1), (EQUAL, 0, 1, 2), _return(ALLOW), _refuse(errno.EPERM)],
    )
    for number in (MMAP[column], MPROTECT[column]):
        steps += _if_number(number, [_load(2), (BITS, 0, 1, mmap.PROT_EXEC), _refuse(errno.EPERM), _return(ALLOW)])
    for table, verdict in ((ALLOWED, ALLOW), (DEADLY, KILL)):
        for numbers in table.values():
            if (number_here := numbers[column]) is not None:
                steps += _if_number(number_here, [_return(verdict)])
    for numbers, answer in ANSWERED.values():
        if (number_here := numbers[column]) is not None:
            steps += _if_number(number_here, [_refuse(answer)])
    return [*steps, _refuse(errno.EPERM)]


def _if_number(number: int, then: list[Step]) -> list[Step]:
    """`then` ends with a return on every path, so the number is still loaded for what follows."""
    return [(EQUAL, 0, len(then), number), *then]


def _load(argument: int) -> Step:
    return (LOAD, 0, 0, ARGUMENTS_AT + 8 * argument)


def _return(verdict: int) -> Step:
    return (RETURN, 0, 0, verdict)


def _refuse(number: int) -> Step:
    return (RETURN, 0, 0, ERRNO | number)


def _call(number: int, *arguments: int) -> int:
    syscall = ctypes.CDLL(None, use_errno=True).syscall
    syscall.restype = ctypes.c_long
    return int(syscall(ctypes.c_long(number), *(ctypes.c_long(each) for each in arguments)))
