"""What may go wrong between us and a ComfyUI. Facts, no prose at the call site, and never a credential.

Unavailable   ServerUnreachable  ServerTimedOut  UnexpectedAnswer  AnswerTooLarge  CancelUnconfirmed
Refused       PromptRefused  UploadRefused  InvalidGraph (InterfaceFormat  Unconvertible  MissingNodeClass)
NotFound      OutputGone
"""

from collections.abc import Mapping

from comfyfleet.comfy.model import NodeError, OutputFile
from comfyfleet.kernel.errors import FleetError, Forbidden, NotFound, Refused, Unavailable


class ServerUnreachable(Unavailable):
    """No connection, or it broke before the answer was whole."""

    code = "server_unreachable"
    text = "The server {server} cannot be reached: {problem}."
    advice = " Does ComfyUI run there, at this port, and listen to this machine (--listen)?"

    def __init__(self, server: str, *, problem: str, sent: bool = True, refused: bool = False) -> None:
        """`sent` False: there was no connection, so the request was certainly not carried out. `refused`: nothing
        listens at its port, so the server does not run."""
        self.sent = sent
        self.refused = refused
        problem = problem.rstrip(".")
        message = self.text.format(server=server, problem=problem) + ("" if sent else self.advice)
        super().__init__(message, server=server, problem=problem, sent=sent)


class ServerTimedOut(Unavailable):
    """It took the request and did not answer in time. The request may have been carried out."""

    code = "server_timed_out"
    text = "The server {server} did not answer {route} within {limit_s:time}."

    def __init__(self, server: str, *, route: str, limit_s: float) -> None:
        super().__init__(server=server, route=route, limit_s=limit_s)


class UnexpectedAnswer(Unavailable):
    """Not what ComfyUI says there: garbage, a web page with status 200, another shape, a status of trouble."""

    code = "unexpected_answer"
    text = "The server {server} answered {route} with {status}: {problem}."

    def __init__(self, server: str, *, route: str, status: int, problem: str) -> None:
        self.status = status
        facts = {"server": server, "route": route, "status": status, "problem": problem.rstrip(".")}
        super().__init__(self.text.format_map(facts) + _advice(status), **facts)


def _advice(status: int) -> str:
    if status >= 500:
        return " Its own log says why."
    if 300 <= status < 400:
        return " Redirects are not followed: give the address it redirects to."
    return " Is that the address of a ComfyUI?"


class AccessRefused(Forbidden):
    """Something in front of the server wants another credential, or none of ours."""

    code = "server_access_refused"
    text = "The server {server} refused us at {route} with {status}. Look at the credentials given for it."

    def __init__(self, server: str, *, route: str, status: int) -> None:
        self.status = status
        super().__init__(server=server, route=route, status=status)


class AnswerTooLarge(Unavailable):
    """More bytes than we are ready to read."""

    code = "answer_too_large"
    text = "The server {server} answered {route} with more than {limit_bytes} bytes."

    def __init__(self, server: str, *, route: str, limit_bytes: int) -> None:
        super().__init__(server=server, route=route, limit_bytes=limit_bytes)


class PromptRefused(Refused):
    """Validation failed: nothing was queued. `node_errors` name node and input where the server knew them."""

    code = "prompt_refused"
    text = "The server {server} refused the prompt: {summary}"

    def __init__(
        self, server: str, *, type: str, message: str, details: str = "", node_errors: tuple[NodeError, ...] = ()
    ) -> None:
        self.type = type
        self.reason = message
        self.details = details
        self.node_errors = node_errors
        super().__init__(
            server=server,
            type=type,
            details=details,
            node_errors=node_errors,
            summary=_summary(message, details, node_errors),
        )


def _summary(message: str, details: str, node_errors: tuple[NodeError, ...]) -> str:
    if not node_errors:
        return f"{message}: {details}" if details else message
    first = node_errors[0]
    where = f"node {first.node} ({first.class_type})" + (f", input {first.input_name!r}" if first.input_name else "")
    more = f", and {len(node_errors) - 1} more" if len(node_errors) > 1 else ""
    return f"{where}: {first.message}" + (f" ({first.details})" if first.details else "") + more


class UploadRefused(Refused):
    """The server does not take this file."""

    code = "upload_refused"
    text = "The server {server} refused the file {name!r} with {status}: {problem}."

    def __init__(self, server: str, *, name: str, status: int, problem: str) -> None:
        self.status = status
        super().__init__(server=server, name=name, status=status, problem=problem)


class OutputGone(NotFound):
    """The history names a file that is no longer there: deleted, or a cached result's old file."""

    code = "output_gone"
    text = "The server {server} has no file {name!r} any more."

    def __init__(self, server: str, *, output: OutputFile) -> None:
        self.output = output
        self.server = server
        FleetError.__init__(self, server=server, name=f"{output.subfolder}/{output.filename}".lstrip("/"))


class CancelUnconfirmed(Unavailable):
    """The server has not let go of the prompt yet. A long node cannot be interrupted; it may end later."""

    code = "cancel_unconfirmed"
    text = "The server {server} has not confirmed that the prompt {prompt_id} is gone."

    def __init__(self, server: str, *, prompt_id: str) -> None:
        super().__init__(server=server, prompt_id=prompt_id)


class InvalidGraph(Refused):
    """What was given is no graph that a server could run; node and input are named where one is at fault."""

    code = "invalid_graph"
    text = "{problem}"

    def __init__(self, problem: str, *, node: str | None = None, input_name: str | None = None) -> None:
        self.node = node
        self.input_name = input_name
        self.problem = problem
        where = [f"node {node}"] if node is not None else []
        where += [f"input {input_name!r}"] if input_name is not None else []
        named = {"node": node, "input_name": input_name}
        facts = {name: fact for name, fact in named.items() if fact is not None}
        super().__init__(f"{', '.join(where)}: {problem}" if where else problem, **facts)


class InterfaceFormat(InvalidGraph):
    """A workflow as ComfyUI's interface saves it: no server runs it before it is converted."""

    code = "interface_format"

    def __init__(self) -> None:
        super().__init__(
            "This is a workflow as ComfyUI's interface saves it, and servers run the API format. Export it with "
            "'Export (API)'. `comfyfleet workflows create --object-info URL` converts it with the node classes of the "
            "server at that URL."
        )


class Unconvertible(InvalidGraph):
    """A workflow of the interface's format of which nobody could say exactly what it would run."""

    code = "unconvertible"


class MissingNodeClass(InvalidGraph):
    """The server does not have these node classes."""

    code = "missing_node_class"

    def __init__(self, classes: Mapping[str, str]) -> None:
        self.classes = dict(classes)
        named = ", ".join(f"{class_type} (node {node})" for class_type, node in self.classes.items())
        super().__init__(f"The server does not have the node class {named}.")
        self.facts = {"classes": self.classes}
