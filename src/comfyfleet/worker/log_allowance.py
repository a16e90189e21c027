"""How much of a log goes to whoever watches a job: a chatty node must not crowd out its progress. Pure."""

from dataclasses import dataclass

LINES_MAX = 150
BYTES_MAX = 32 * 1024
LINES_A_SECOND = 20
LEFT_OUT = "Further lines are left out."


@dataclass(slots=True)
class LogAllowance:
    """Of one job."""

    lines: int = 0
    bytes: int = 0
    second: int = -1
    in_second: int = 0
    is_over: bool = False

    def admit(self, line: str, *, now_s: float) -> str | None:
        """What is sent in its place; None: nothing. A burst loses lines; past the whole it is said once, and over."""
        if self.is_over:
            return None
        if int(now_s) != self.second:
            self.second, self.in_second = int(now_s), 0
        self.in_second += 1
        if self.in_second > LINES_A_SECOND:
            return None
        self.lines, self.bytes = self.lines + 1, self.bytes + len(line.encode("utf-8", "replace"))
        if self.lines > LINES_MAX or self.bytes > BYTES_MAX:
            self.is_over = True
            return LEFT_OUT
        return line
