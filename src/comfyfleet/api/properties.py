"""A property as operators and tenants see it: enough to draw a form and to check it before it is sent."""

from typing import Annotated

from pydantic import Field, StrictBool, StrictFloat, StrictInt, StrictStr

from comfyfleet.api.bodies import View
from comfyfleet.workflows import PropertyType

Value = (
    StrictBool
    | StrictInt
    | Annotated[StrictFloat, Field(allow_inf_nan=False)]
    | Annotated[StrictStr, Field(max_length=200_000)]
)


class OpenPropertyView(View):
    """What a user may set. `image` and `video` take the id of a file; `seed` takes a number or `"random"`."""

    name: str
    type: PropertyType
    label: str
    description: str
    default: Value | None
    required: bool
    minimum: float | None
    maximum: float | None
    step: float | None
    choices: list[Value] | None
    multiline: bool
    is_primary_input: bool


class PropertyView(OpenPropertyView):
    """With the place in the graph that it goes to."""

    placeholder: str | None
    node: str | None
    input_name: str | None
