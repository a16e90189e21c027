"""What AWS refuses, and why, in words that name the action and what to do."""

from enum import StrEnum

from comfyfleet.kernel.errors import Unavailable

TEXT_CHARS_MAX = 300


class AwsFault(StrEnum):
    NO_LIBRARY = "no_library"
    CREDENTIALS = "credentials"  # none, or AWS does not accept them: nothing was done
    DENIED = "denied"  # the policy lacks the action: nothing was done
    REFUSED = "refused"  # it makes no sense to AWS, such as a group that does not exist: nothing was done
    UNKNOWN_ACTION = "unknown_action"  # this endpoint does not have it: nothing was done
    BUSY = "busy"  # something else is under way there: try again
    THROTTLED = "throttled"
    UNREACHABLE = "unreachable"  # no usable answer: it may have been done


class AwsProblem(Unavailable):
    """AWS did not do what it was asked for."""

    code = "aws_problem"
    text = "{action}: {problem}"
    action: str
    problem: str

    def __init__(self, fault: AwsFault, action: str, problem: str, *, aws_code: str = "") -> None:
        super().__init__(action=action, problem=problem[: 2 * TEXT_CHARS_MAX])
        self.fault, self.aws_code = fault, aws_code


CREDENTIAL_CODES = frozenset(
    {
        "AuthFailure",
        "ExpiredToken",
        "ExpiredTokenException",
        "InvalidAccessKeyId",
        "InvalidClientTokenId",
        "MissingAuthenticationToken",
        "RequestExpired",
        "SignatureDoesNotMatch",
        "UnrecognizedClientException",
    }
)
DENIED_CODES = frozenset({"AccessDenied", "AccessDeniedException", "UnauthorizedOperation"})
THROTTLED_CODES = frozenset(
    {
        "RequestLimitExceeded",
        "SlowDown",
        "ThrottledException",
        "Throttling",
        "ThrottlingException",
        "TooManyRequestsException",
    }
)
UNKNOWN_CODES = frozenset({"InvalidAction", "NotImplemented", "UnknownOperationException", "UnsupportedOperation"})
BUSY_CODES = frozenset({"IdempotentCallInProgress", "ResourceContention", "ScalingActivityInProgress"})
# Raised before anything is sent.
UNSENT = frozenset(
    {"CredentialRetrievalError", "NoCredentialsError", "PartialCredentialsError", "ProfileNotFound"}
    | {"SSOTokenLoadError", "TokenRetrievalError", "UnauthorizedSSOTokenError"}
)
WRONG = frozenset({"InvalidEndpointDiscoveryConfigurationError", "InvalidRegionError", "NoRegionError"})
BAD_PARAMETERS = frozenset({"ParamValidationError", "ValueError"})


def explain(problem: Exception, action: str) -> AwsProblem:
    """Any exception of the library, as one of ours."""
    said = getattr(problem, "response", None)
    if isinstance(said, dict) and "Error" in said:
        return _of_answer(said, action)
    name, text = type(problem).__name__, str(problem)[:TEXT_CHARS_MAX]
    if name in UNSENT:
        text = f"there are no credentials ({text}). Give the server an instance role, or AWS_ACCESS_KEY_ID and "
        return AwsProblem(AwsFault.CREDENTIALS, action, text + "AWS_SECRET_ACCESS_KEY.")
    if name in WRONG or name in BAD_PARAMETERS:
        return AwsProblem(AwsFault.REFUSED, action, text)
    return AwsProblem(AwsFault.UNREACHABLE, action, f"AWS did not answer ({name}: {text})")


def _of_answer(said: dict[str, object], action: str) -> AwsProblem:
    error = said["Error"]
    found = error if isinstance(error, dict) else {}
    code, text = str(found.get("Code", "")), str(found.get("Message", ""))[:TEXT_CHARS_MAX]
    metadata = said.get("ResponseMetadata")
    status = metadata.get("HTTPStatusCode", 0) if isinstance(metadata, dict) else 0
    fault, words = _sort(code, status)
    return AwsProblem(fault, action, words.format(action=action, code=code or status, text=text), aws_code=code)


def _sort(code: str, status: int) -> tuple[AwsFault, str]:
    if code in DENIED_CODES:
        return AwsFault.DENIED, "the server's role may not do this; allow {action} in its IAM policy ({code}: {text})"
    if code in CREDENTIAL_CODES:
        return AwsFault.CREDENTIALS, "AWS does not accept the server's credentials; renew them ({code}: {text})"
    if code in THROTTLED_CODES:
        return AwsFault.THROTTLED, "AWS limits how often this may be asked; it is asked again ({code}: {text})"
    if code in UNKNOWN_CODES or status == 501:
        return AwsFault.UNKNOWN_ACTION, "this endpoint does not have it ({code}: {text})"
    if code in BUSY_CODES:
        return AwsFault.BUSY, "AWS is busy with this group; it is asked again ({code}: {text})"
    if status >= 500:
        return AwsFault.UNREACHABLE, "AWS failed ({code}: {text})"
    return AwsFault.REFUSED, "AWS refused it ({code}: {text})"
