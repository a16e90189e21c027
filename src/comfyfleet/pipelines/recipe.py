"""All that a step's effect takes to make a job of it, read before the transaction that does."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from comfyfleet.kernel.errors import FleetError
from comfyfleet.workflows import FileInputs, Version
from comfyfleet.workflows.effects import Offer


@dataclass(frozen=True, slots=True)
class Recipe:
    offer: Offer
    version: Version
    graph: Mapping[str, Any]
    reported: FileInputs = field(default_factory=dict)

    @property
    def price(self) -> int:
        return self.offer.effect.credits_cost


# By the effect's slug; or why there is none.
Recipes = Mapping[str, Recipe | FleetError]


def price_of(recipe: Recipe | FleetError | None) -> int:
    """Of one that cannot be used now: nothing, for it will not come to that."""
    return recipe.price if isinstance(recipe, Recipe) else 0
