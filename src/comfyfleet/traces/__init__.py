"""Traces of jobs: spans are values, recorded when they are over, and exported by OpenTelemetry where an endpoint is
set. Used by the control plane and by workers."""
