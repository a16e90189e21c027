"""`comfyfleet wallets`"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from comfyfleet.cli.acting import os_user
from comfyfleet.cli.late import Late
from comfyfleet.cli.output import AsJson, plain, print_json, print_one
from comfyfleet.cli.running import in_house
from comfyfleet.cli.tables import Columns, print_table
from comfyfleet.kernel.errors import InvalidInput
from comfyfleet.kernel.page import PAGE_ROWS_MAX, PageRequest

if TYPE_CHECKING:
    from comfyfleet import audit, jobs, ledger, tenants
    from comfyfleet.house import House
    from comfyfleet.ledger import Receipt, Wallet
    from comfyfleet.tenants import Tenant, User
else:
    audit = Late("comfyfleet.audit")
    jobs = Late("comfyfleet.jobs")
    ledger = Late("comfyfleet.ledger")
    tenants = Late("comfyfleet.tenants")

app = typer.Typer()

COLUMNS: Columns = {
    "at": lambda each: each["created_at"][:16].replace("T", " "),
    "what": lambda each: each["effect"] or ("a job" if each["job_id"] else "payment"),
    "state": lambda each: each["state"],
    "tokens": lambda each: f"{each['amount']:+}" if each["amount"] else "0",
    "balance": lambda each: each["balance_after"],
    "job or payment": lambda each: each["job_id"] or each["provider_transaction_id"],
}
Email = Annotated[str, typer.Argument(help="Email of the wallet's user.")]


@app.command("show")
def show(email: Email, as_json: AsJson = False) -> None:
    """The balance, and the newest hundred payments and jobs: one row each, with the balance after it."""

    async def work(house: House) -> tuple[Wallet, list[dict[str, Any]]]:
        tenant, user = await _owner(house, email)
        async with house.tenant_tx(tenant, read_only=True) as tx:
            page = await ledger.list_entries(tx, user.id, PageRequest(rows=PAGE_ROWS_MAX))
            effects = await jobs.effects_of(tx, {each.job_id for each in page.rows if each.job_id is not None})
            rows = [{**plain(each), "effect": effects.get(each.job_id) if each.job_id else None} for each in page.rows]
            return await ledger.get_wallet(tx, user.id), rows

    wallet, entries = in_house(work)
    if as_json:
        print_json(entries)
    else:
        print_table(f"{email}: {wallet.balance} tokens", entries, COLUMNS)


@app.command("credit")
def credit(
    email: Email,
    amount: Annotated[int, typer.Argument(help="Tokens to add.")],
    provider_transaction_id: Annotated[str, typer.Option("--id", help="Payment id: the same one credits once.")],
    as_json: AsJson = False,
) -> None:
    """Add tokens to a wallet."""

    async def work(house: House) -> tuple[Wallet, Receipt]:
        tenant, user = await _owner(house, email)
        async with house.control_tx(read_only=True) as central:
            await audit.require_no_alarm(central)
        async with house.tenant_tx(tenant) as tx:
            receipt = await ledger.credit_on_record(
                tx,
                user.id,
                ledger.Tokens(amount),
                provider_transaction_id=provider_transaction_id,
                actor=os_user(),
                signer=house.chain,
            )
            return await ledger.get_wallet(tx, user.id), receipt

    wallet, receipt = in_house(work)
    done = "had been credited before" if receipt.replayed else "credited"
    sentence = f"{amount} tokens {done}; {email} has {wallet.balance}."
    print_one(receipt.transaction, as_json=as_json, sentence=sentence)


async def _owner(house: House, email: str) -> tuple[Tenant, User]:
    async with house.control_tx(read_only=True) as tx:
        user = await tenants.find_user(tx, email)
        if user.tenant_id is None:
            raise InvalidInput("email", "operators have no wallet")
        return await tenants.get_tenant(tx, user.tenant_id), user
