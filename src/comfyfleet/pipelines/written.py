"""A pipeline in a YAML file, with the line of everything in it: whatever is wrong is said with its line. Pure."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import yaml

from comfyfleet.kernel.errors import InvalidInput

FILE_BYTES_MAX = 256 * 1024
DEPTH_MAX = 10
NODES_MAX = 10_000
PLAIN = {
    "tag:yaml.org,2002:str",
    "tag:yaml.org,2002:int",
    "tag:yaml.org,2002:float",
    "tag:yaml.org,2002:bool",
    "tag:yaml.org,2002:null",
}


class InvalidFile(InvalidInput):
    """A file does not say what it should. `line` counts from 1."""

    code = "invalid_file"
    text = "{file}, line {line}: {field}: {problem}"
    line: int

    def __init__(self, file: str, line: int, field: str, problem: str) -> None:
        # Not by InvalidInput's own way: this one has more to say.
        super(InvalidInput, self).__init__(file=file, line=line, field=field, problem=problem)


@dataclass(frozen=True, slots=True)
class Written:
    """`lines`: where each value stands, by the way to it (`steps.1.needs.parent`)."""

    file: str
    said: Any
    lines: Mapping[str, int] = field(repr=False)

    def locate(self, problem: InvalidInput) -> InvalidFile:
        """The line of the field, or of the nearest that is written above it: what is missing has no line."""
        where = str(problem.facts.get("field", "")).removeprefix("body.")
        parts = where.split(".")
        ways = (".".join(parts[:count]) for count in range(len(parts), 0, -1))
        line = next((self.lines[way] for way in ways if way in self.lines), 1)
        return InvalidFile(self.file, line, where or "pipeline", str(problem.facts.get("problem", problem.message)))


def read_written(text: str, file: str) -> Written:
    """Raises InvalidFile."""
    if len(text.encode(errors="replace")) > FILE_BYTES_MAX:
        raise InvalidFile(file, 1, "pipeline", f"has more than {FILE_BYTES_MAX} bytes")
    return _Reader(file).read(text)


class _Reader:
    def __init__(self, file: str) -> None:
        self._file = file
        self._lines: dict[str, int] = {}
        self._seen: set[int] = set()
        self._values = yaml.SafeLoader("")

    def read(self, text: str) -> Written:
        try:
            for event in yaml.parse(text, Loader=yaml.SafeLoader):
                if isinstance(event, yaml.AliasEvent):
                    # A few lines of them could unfold to gigabytes.
                    raise self._wrong(event, "pipeline", "has an alias (*name); write it out")
            root = yaml.compose(text, Loader=yaml.SafeLoader)
        except yaml.MarkedYAMLError as problem:
            mark = problem.problem_mark or problem.context_mark
            if problem.problem is not None and "end of stream" in problem.problem:
                mark = problem.context_mark or mark  # where that began which never ends
            line = mark.line + 1 if mark is not None else 1
            raise InvalidFile(self._file, line, "pipeline", f"is no YAML: {problem.problem or problem}") from None
        except (yaml.YAMLError, RecursionError, ValueError) as problem:
            raise InvalidFile(self._file, 1, "pipeline", f"is no YAML: {str(problem)[:200]}") from None
        if root is None:
            raise InvalidFile(self._file, 1, "pipeline", "is empty")
        return Written(self._file, self._value(root, (), depth=0), self._lines)

    def _value(self, node: yaml.Node, way: tuple[str, ...], *, depth: int) -> Any:
        where = ".".join(way)
        self._lines.setdefault(where, node.start_mark.line + 1)
        self._seen.add(id(node))
        if depth > DEPTH_MAX or len(self._seen) > NODES_MAX:
            raise self._wrong(node, where, "is nested too deeply, or too much")
        if isinstance(node, yaml.MappingNode):
            return {name: self._value(child, (*way, name), depth=depth + 1) for name, child in self._pairs(node, way)}
        if isinstance(node, yaml.SequenceNode):
            return [self._value(child, (*way, str(at)), depth=depth + 1) for at, child in enumerate(node.value)]
        if node.tag not in PLAIN:
            raise self._wrong(node, where, "must be a text, a number, true or false; put it into quotes")
        try:
            return self._values.construct_object(node)
        except (ValueError, OverflowError, yaml.YAMLError):
            raise self._wrong(node, where, "is no number; put it into quotes") from None

    def _pairs(self, node: yaml.MappingNode, way: tuple[str, ...]) -> Iterator[tuple[str, yaml.Node]]:
        found: dict[str, yaml.Node] = {}
        for key, child in node.value:
            name = str(key.value) if isinstance(key, yaml.ScalarNode) else "?"
            where = ".".join((*way, name))
            if not isinstance(key, yaml.ScalarNode) or name in found:
                problem = "is there twice" if name in found else "must have a plain name"
                raise self._wrong(key, where, problem)
            # The line of the name: a value may begin below it.
            self._lines[where] = key.start_mark.line + 1
            found[name] = child
            yield name, child

    def _wrong(self, at: Any, where: str, problem: str) -> InvalidFile:
        return InvalidFile(self._file, at.start_mark.line + 1, where or "pipeline", problem)
