"""A shop reports a payment: the same verb as an operator's credit, behind a Standard Webhooks signature."""

from typing import Annotated

from fastapi import APIRouter, Depends, Request, Response
from fastapi.exceptions import RequestValidationError
from pydantic import Field, ValidationError
from standardwebhooks import Webhook, WebhookVerificationError

from comfyfleet import tenants
from comfyfleet.api import bodies
from comfyfleet.api.acting import shop_of
from comfyfleet.api.bodies import Body
from comfyfleet.api.crediting import ProviderId, credit
from comfyfleet.api.policy import Policy, TheHouse, TheOptions
from comfyfleet.api.views import CreditView
from comfyfleet.kernel.errors import FleetError, NotFound, SignatureRefused
from comfyfleet.kernel.ids import UserId
from comfyfleet.kernel.secret import Secret


class SignedMessage(Policy):
    """Whoever signed the body with a secret that a shop was given. Nothing is parsed before the signature holds."""

    async def __call__(self, request: Request, options: TheOptions) -> None:
        secrets = options.payment_webhook_secrets
        if not secrets:
            raise PaymentsClosed
        raw, headers = await request.body(), dict(request.headers)
        if not any(_holds(raw, headers, secret) for secret in secrets):
            raise SignatureRefused("The message is not signed with a secret this server knows, or is too old.")


router = APIRouter(prefix="/api/payments", tags=["payments"], dependencies=[Depends(SignedMessage())])


class PaymentsClosed(NotFound):
    """No shop has been given a secret."""

    code = "payments_closed"

    def __init__(self) -> None:
        FleetError.__init__(self, "Payments are not set up: set COMFYFLEET_PAYMENT_WEBHOOK_SECRETS.")


class PaymentBody(Body):
    tenant: Annotated[str, Field(min_length=1, max_length=63, description="Slug or id.")]
    user_id: UserId
    amount: bodies.Tokens
    provider_transaction_id: ProviderId


@router.post(
    "/credit",
    status_code=201,
    openapi_extra={
        "requestBody": {
            "required": True,
            "content": {"application/json": {"schema": PaymentBody.model_json_schema()}},
        },
        "parameters": [
            {"name": name, "in": "header", "required": True, "schema": {"type": "string"}}
            for name in ("webhook-id", "webhook-timestamp", "webhook-signature")
        ],
    },
)
async def credit_by_payment(request: Request, house: TheHouse, response: Response) -> CreditView:
    """201 when tokens moved; 200 when this payment had been credited before."""
    payment = _parse(await request.body())
    async with house.control_tx(read_only=True) as tx:
        tenant = await tenants.find_tenant(tx, payment.tenant)
        await tenants.get_user_of(tx, tenant.id, payment.user_id)
    shop = shop_of(request)
    view = await credit(house, tenant, payment.user_id, payment.amount, payment.provider_transaction_id, actor=shop)
    if view.replayed:
        response.status_code = 200
    return view


def _parse(raw: bytes) -> PaymentBody:
    try:
        return PaymentBody.model_validate_json(raw)
    except ValidationError as error:
        raise RequestValidationError([{**each, "loc": ("body", *each["loc"])} for each in error.errors()]) from None


def _holds(raw: bytes, headers: dict[str, str], secret: Secret) -> bool:
    try:
        Webhook(secret.reveal()).verify(raw, headers, json_parse=False)
    except (WebhookVerificationError, ValueError):
        return False
    return True
