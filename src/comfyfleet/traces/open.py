"""Traces are on where the standard variables of OpenTelemetry name an endpoint; the SDK is loaded only then."""

import os
from collections.abc import Mapping
from importlib.util import find_spec
from urllib.parse import urlsplit

from comfyfleet.kernel.errors import FleetError
from comfyfleet.traces.sink import TRACES_OFF, TraceSink

ENDPOINTS = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
PROTOCOLS = ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL")
PROTOCOL = "http/protobuf"
EXPORTER = "opentelemetry.exporter.otlp.proto.http"


class TracesMisconfigured(FleetError):
    """An endpoint for traces is set, and traces cannot be sent to it. Nothing was started."""

    code = "traces_misconfigured"
    text = "Traces cannot be sent: {problem}"

    def __init__(self, problem: str) -> None:
        super().__init__(problem=problem)


def open_traces(service: str, *, environment: Mapping[str, str] = os.environ) -> TraceSink:
    """`service`: this process's name in traces, unless OTEL_SERVICE_NAME says otherwise. Raises TracesMisconfigured."""
    name = next((each for each in ENDPOINTS if environment.get(each, "").strip()), None)
    disabled = environment.get("OTEL_SDK_DISABLED", "").strip().lower() == "true"
    if name is None or disabled or environment.get("OTEL_TRACES_EXPORTER", "").strip() == "none":
        return TRACES_OFF
    collector = _collector(name, environment[name].strip())
    _check_protocol(environment)
    if not _is_installed():
        raise TracesMisconfigured(
            f"{name} is set, and the OpenTelemetry SDK is not installed. Install comfyfleet with the extra `traces` "
            "(`pip install 'comfyfleet[traces]'`), or unset the variable."
        )
    from comfyfleet.traces.otlp import OtlpSink  # here, and nowhere above: without an endpoint nobody pays for it

    return OtlpSink(service, collector=collector)


def _collector(name: str, url: str) -> str:
    """Host and port, for log lines: a URL may hold a password."""
    try:
        parts = urlsplit(url)
        is_http = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_http = False
    if not is_http:
        raise TracesMisconfigured(f"{name} must be an http or https URL, such as http://127.0.0.1:4318.")
    return parts.netloc.rpartition("@")[2]


def _check_protocol(environment: Mapping[str, str]) -> None:
    name = next((each for each in PROTOCOLS if environment.get(each, "").strip()), None)
    if name is not None and environment[name].strip() != PROTOCOL:
        raise TracesMisconfigured(
            f"{name} is {environment[name].strip()!r}; comfyfleet sends {PROTOCOL} only. Set it to {PROTOCOL}, and the "
            "endpoint to the HTTP port of the collector (usually 4318)."
        )


def _is_installed() -> bool:
    try:
        return find_spec(EXPORTER) is not None and find_spec("opentelemetry.sdk.trace") is not None
    except ModuleNotFoundError:
        return False
