"""The session cookie, and the check that a browser's request comes from our own pages."""

from starlette.requests import Request
from starlette.responses import Response

from comfyfleet.kernel.errors import Forbidden
from comfyfleet.kernel.hosts import is_loopback
from comfyfleet.kernel.secret import Secret

# Browsers tie a __Host- cookie to this very host and to a secure connection; localhost counts as one.
SECURE_COOKIE = "__Host-comfyfleet_session"
PLAIN_COOKIE = "comfyfleet_session"
COOKIES = (SECURE_COOKIE, PLAIN_COOKIE)

PLAIN_WARNING = (
    "This connection is not encrypted: anybody on the network can read the session and act as you. "
    "Put the server behind HTTPS."
)


def is_secure(request: Request) -> bool:
    # Not `request.url`: that one cannot be read when the query is no text.
    asked = request.base_url
    return asked.scheme == "https" or is_loopback(asked.hostname or "")


def set_session_cookie(request: Request, response: Response, secret: Secret, *, ttl_s: int) -> str | None:
    """Returns a warning to show when the connection could not protect the cookie."""
    secure = is_secure(request)
    response.set_cookie(
        SECURE_COOKIE if secure else PLAIN_COOKIE,
        secret.reveal(),
        max_age=ttl_s,
        path="/",
        secure=secure,
        httponly=True,
        samesite="lax",
    )
    return None if secure else PLAIN_WARNING


def clear_session_cookie(request: Request, response: Response) -> None:
    for name in COOKIES:
        if name in request.cookies:
            response.delete_cookie(name, path="/", secure=name == SECURE_COOKIE, httponly=True, samesite="lax")


def session_secret(request: Request) -> Secret | None:
    name = SECURE_COOKIE if is_secure(request) else PLAIN_COOKIE
    found = request.cookies.get(name)
    return Secret(found) if found else None


def require_same_origin(request: Request) -> None:
    """A cookie travels with requests that other sites start; those are refused."""
    site = request.headers.get("sec-fetch-site")
    if site in ("same-origin", "none"):
        return
    origin = request.headers.get("origin")
    if site is None and origin is not None and origin.partition("://")[2] == request.headers.get("host"):
        return
    raise Forbidden("A change by web login must come from this site's own pages. Programs use a key instead.")
