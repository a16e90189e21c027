"""Calls to other systems as a histogram. See `kernel.exchanges`, which times them."""

from prometheus_client import Histogram
from prometheus_client.registry import CollectorRegistry

from comfyfleet.kernel.exchanges import TimedExchange

EXCHANGE_S = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0)


class ExchangeSeconds:
    def __init__(self, registry: CollectorRegistry) -> None:
        self._seconds = Histogram(
            "comfyfleet_exchange_seconds",
            "Calls to other systems, by kind of system and outcome. With the whole answer.",
            ["kind", "outcome"],
            buckets=EXCHANGE_S,
            registry=registry,
        )

    def note(self, exchange: TimedExchange) -> None:
        self._seconds.labels(exchange.kind.value, exchange.outcome.value).observe(exchange.took_s)
