"""A model of the ledger beside the real one: any order of credits, reserves, ends, replays, and several at once."""

import asyncio
from collections.abc import Coroutine
from typing import Any, ClassVar

import pytest
import sqlalchemy as sa
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

from comfyfleet import ledger
from comfyfleet.db import Database, open_database
from comfyfleet.kernel.errors import DuplicateKey, IllegalMove, InsufficientTokens, NotFound
from comfyfleet.kernel.ids import JobId, TenantId, UserId, new_id
from comfyfleet.ledger import Tokens
from tests.conftest import Databases

AMOUNTS = st.integers(min_value=1, max_value=60)


class LedgerMachine(RuleBasedStateMachine):
    """Each example works in a tenant of its own, in one shared pool."""

    runner: ClassVar[asyncio.Runner]
    database: ClassVar[Database]
    jobs = Bundle("jobs")
    payments = Bundle("payments")

    def __init__(self) -> None:
        super().__init__()
        self.tenant_id, self.user_id = TenantId(new_id()), UserId(new_id())
        self.balance = 0
        self.credits: dict[str, int] = {}
        self.reserved: dict[JobId, int] = {}
        self.ended: dict[JobId, str] = {}

    def do(self, work: Coroutine[Any, Any, Any]) -> Any:
        return self.runner.run(work)

    async def in_tx(self, verb: Any, *arguments: Any, **named: Any) -> Any:
        async with self.database.tenant_tx(self.tenant_id) as tx:
            return await verb(tx, *arguments, **named)

    @rule(target=payments, amount=AMOUNTS)
    def credit(self, amount: int) -> str:
        payment = f"pay-{len(self.credits)}"
        self.do(self.in_tx(ledger.credit_wallet, self.user_id, Tokens(amount), provider_transaction_id=payment))
        self.credits[payment] = amount
        self.balance += amount
        return payment

    @rule(payment=payments, difference=st.sampled_from([0, 0, 1]))
    def credit_again(self, payment: str, difference: int) -> None:
        work = self.in_tx(
            ledger.credit_wallet,
            self.user_id,
            Tokens(self.credits[payment] + difference),
            provider_transaction_id=payment,
        )
        if difference:
            with pytest.raises(DuplicateKey):
                self.do(work)
        else:
            assert self.do(work).replayed

    @rule(target=jobs, amount=st.integers(min_value=0, max_value=60))
    def reserve(self, amount: int) -> JobId:
        job = JobId(new_id())
        work = self.in_tx(ledger.reserve_tokens, self.user_id, Tokens(amount), job_id=job)
        if amount > self.balance:
            with pytest.raises(InsufficientTokens) as refused:
                self.do(work)
            assert refused.value.facts == {"required_tokens": amount, "available_tokens": self.balance}
        else:
            self.do(work)
            self.reserved[job] = amount
            self.balance -= amount
        return job

    @rule(job=jobs)
    def reserve_again(self, job: JobId) -> None:
        if job in self.reserved:
            amount = Tokens(self.reserved[job])
            assert self.do(self.in_tx(ledger.reserve_tokens, self.user_id, amount, job_id=job)).replayed

    @rule(job=jobs, how=st.sampled_from(["consume", "refund"]))
    def end(self, job: JobId, how: str) -> None:
        work = self.in_tx(ledger.consume_tokens if how == "consume" else ledger.refund_tokens, job)
        if job not in self.reserved:
            with pytest.raises(NotFound):
                self.do(work)
        elif self.ended.get(job, how) != how:
            with pytest.raises(IllegalMove):
                self.do(work)
        else:
            assert self.do(work).replayed is (job in self.ended)
            self._count_end(job, how)

    def _count_end(self, job: JobId, how: str) -> None:
        if job not in self.ended and how == "refund":
            self.balance += self.reserved[job]
        self.ended[job] = how

    @rule(amounts=st.lists(AMOUNTS, min_size=2, max_size=5))
    def reserve_at_once(self, amounts: list[int]) -> None:
        jobs = [JobId(new_id()) for _ in amounts]

        async def all_of_them() -> list[Any]:
            verbs = (
                self.in_tx(ledger.reserve_tokens, self.user_id, Tokens(amount), job_id=job)
                for job, amount in zip(jobs, amounts, strict=True)
            )
            return await asyncio.gather(*verbs, return_exceptions=True)

        outcomes = self.do(all_of_them())
        taken = 0
        for job, amount, outcome in zip(jobs, amounts, outcomes, strict=True):
            if isinstance(outcome, InsufficientTokens):
                continue
            assert isinstance(outcome, ledger.Receipt), outcome
            self.reserved[job] = amount
            taken += amount
        assert taken <= self.balance
        refused = [amount for job, amount in zip(jobs, amounts, strict=True) if job not in self.reserved]
        assert all(amount > self.balance - taken for amount in refused), "refused although it was there"
        self.balance -= taken

    @rule(job=jobs)
    def consume_and_refund_at_once(self, job: JobId) -> None:
        if job not in self.reserved:
            return

        async def both() -> list[Any]:
            verbs = self.in_tx(ledger.consume_tokens, job), self.in_tx(ledger.refund_tokens, job)
            return await asyncio.gather(*verbs, return_exceptions=True)

        consumed, refunded = self.do(both())
        held = [how for how, each in (("consume", consumed), ("refund", refunded)) if isinstance(each, ledger.Receipt)]
        assert len(held) == 1
        self._count_end(job, held[0])

    @invariant()
    def the_balance_is_the_models_and_the_sum_of_history(self) -> None:
        async def read() -> tuple[int, int]:
            async with self.database.tenant_tx(self.tenant_id, read_only=True) as tx:
                wallet = await ledger.get_wallet(tx, self.user_id)
            async with self.database.engine.connect() as connection:
                rows = sa.text("SELECT COALESCE(SUM(amount), 0) FROM token_transactions WHERE tenant_id = :tenant")
                bound = rows.bindparams(sa.bindparam("tenant", self.tenant_id, type_=sa.Uuid()))
                return wallet.balance, int(await connection.scalar(bound) or 0)

        assert self.do(read()) == (self.balance, self.balance)


def test_the_ledger_keeps_to_its_model(databases: Databases, hypothesis_steps: dict[str, int]) -> None:
    with asyncio.Runner() as runner:
        database = open_database("main", databases.make("tenant"))
        try:
            run_state_machine_as_test(
                type("Machine", (LedgerMachine,), {"runner": runner, "database": database}),
                settings=settings(deadline=None, suppress_health_check=list(HealthCheck), **hypothesis_steps),
            )
        finally:
            runner.run(database.close())
