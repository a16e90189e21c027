"""Settings that make no sense are refused in words."""

from dataclasses import replace

import pytest

from comfyfleet.kernel.errors import InvalidInput
from comfyfleet.scaling import MachineClass, Market, Offer, ScalingSettings, check_settings
from tests.unit.scaling.fleets import SMALL

GOOD = ScalingSettings((SMALL,), min_workers=1, max_workers=5, budget_per_hour=10.0)
FREE = MachineClass("free", offers=(Offer(Market.SPOT),))


def test_good_settings_come_back_unchanged() -> None:
    assert check_settings(GOOD) is GOOD


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        (replace(GOOD, min_workers=6), "min_workers: is 6, but max_workers is 5"),
        (replace(GOOD, min_workers=-1), "min_workers: is -1; allowed: 0 to"),
        (replace(GOOD, target_wait_s=float("nan")), "target_wait_s: is nan; allowed: 1 to 86400"),
        (replace(GOOD, buffer=-2), "buffer: is -2"),
        (replace(GOOD, classes=()), "classes: is empty"),
        (replace(GOOD, classes=(SMALL, SMALL)), "classes: names 'small' twice"),
        (replace(GOOD, classes=(FREE,)), "classes.free.spot.price: is missing, but budget_per_hour is 10"),
        (replace(GOOD, classes=(replace(SMALL, speed=0.0),)), "classes.small.speed: is 0"),
        (replace(GOOD, classes=(replace(SMALL, offers=()),)), "classes.small.offers: is empty"),
        (replace(GOOD, classes=(replace(SMALL, zones=()),)), "classes.small.zones: needs 1 to"),
        (replace(GOOD, classes=(replace(SMALL, name=" "),)), "classes: has a class without a name"),
        (replace(GOOD, budget_per_hour=0.1), "budget_per_hour: is 0.1, but 1 workers at 0.4 cost at least 0.4"),
        (replace(GOOD, down_delay_s=-1.0), "down_delay_s: is -1"),
        (replace(GOOD, load_window_s=5.0), "load_window_s: is 5; allowed: 10 to 3600"),
    ],
)
def test_bad_settings_name_the_field_the_value_and_what_is_allowed(settings: ScalingSettings, says: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        check_settings(settings)
    assert says in refused.value.message


def test_a_class_without_price_is_fine_without_a_budget() -> None:
    check_settings(ScalingSettings((FREE,)))
