"""Credit, reserve, then exactly one of consume and refund; on both engines."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest
import sqlalchemy as sa
from sqlalchemy.exc import DBAPIError

from comfyfleet import ledger
from comfyfleet.db import TenantTx
from comfyfleet.house import House
from comfyfleet.kernel.errors import DuplicateKey, IllegalMove, InsufficientTokens, InvalidInput, NotFound
from comfyfleet.kernel.page import PageRequest
from comfyfleet.ledger import Tokens, TransactionType
from comfyfleet.ledger.lifecycle import RESERVATION, ReservationEvent, ReservationStatus
from tests.builders import Member, a_job_id, a_member, balance


@pytest.fixture
async def member(house: House) -> Member:
    return await a_member(house, tokens=100)


async def _balance(house: House, member: Member) -> int:
    return await balance(house, member.tenant, member.user)


async def test_a_credit_sent_twice_moves_tokens_once(house: House, member: Member) -> None:
    async with house.tenant_tx(member.tenant) as tx:
        first = await ledger.credit_wallet(tx, member.user.id, Tokens(50), provider_transaction_id="shop-1")
    async with house.tenant_tx(member.tenant) as tx:
        second = await ledger.credit_wallet(tx, member.user.id, Tokens(50), provider_transaction_id="shop-1")
    assert (first.replayed, second.replayed) == (False, True)
    assert second.transaction == first.transaction
    assert await _balance(house, member) == 150


async def test_a_payment_id_used_for_another_amount_is_refused(house: House, member: Member) -> None:
    async with house.tenant_tx(member.tenant) as tx:
        await ledger.credit_wallet(tx, member.user.id, Tokens(50), provider_transaction_id="shop-1")
    with pytest.raises(DuplicateKey):
        async with house.tenant_tx(member.tenant) as tx:
            await ledger.credit_wallet(tx, member.user.id, Tokens(51), provider_transaction_id="shop-1")
    assert await _balance(house, member) == 150


@pytest.mark.parametrize("amount", [0, -1, 10**12 + 1])
async def test_an_impossible_credit_is_refused(house: House, member: Member, amount: int) -> None:
    with pytest.raises(InvalidInput, match="amount"):
        async with house.tenant_tx(member.tenant) as tx:
            await ledger.credit_wallet(tx, member.user.id, Tokens(amount), provider_transaction_id="shop-1")


async def test_a_reservation_takes_tokens_off_once(house: House, member: Member) -> None:
    job = a_job_id()
    for expected in (False, True):
        async with house.tenant_tx(member.tenant) as tx:
            receipt = await ledger.reserve_tokens(tx, member.user.id, Tokens(30), job_id=job)
        assert receipt.replayed is expected
        assert receipt.transaction.amount == -30
    assert await _balance(house, member) == 70


async def test_a_job_reserved_for_another_price_is_refused(house: House, member: Member) -> None:
    job = a_job_id()
    async with house.tenant_tx(member.tenant) as tx:
        await ledger.reserve_tokens(tx, member.user.id, Tokens(30), job_id=job)
    with pytest.raises(DuplicateKey):
        async with house.tenant_tx(member.tenant) as tx:
            await ledger.reserve_tokens(tx, member.user.id, Tokens(31), job_id=job)


async def test_too_little_says_what_is_needed_and_what_is_there(house: House, member: Member) -> None:
    with pytest.raises(InsufficientTokens) as refused:
        async with house.tenant_tx(member.tenant) as tx:
            await ledger.reserve_tokens(tx, member.user.id, Tokens(101), job_id=a_job_id())
    assert refused.value.message == "Insufficient token balance."
    assert refused.value.facts == {"required_tokens": 101, "available_tokens": 100}
    async with house.tenant_tx(member.tenant) as tx:
        page = await ledger.list_transactions(tx, member.user.id, PageRequest())
    assert [row.type for row in page.rows] == [TransactionType.PAYMENT_CREDIT]


async def test_a_wallet_never_used_is_empty_and_cannot_pay(house: House) -> None:
    poor = await a_member(house)
    assert await _balance(house, poor) == 0
    with pytest.raises(InsufficientTokens):
        async with house.tenant_tx(poor.tenant) as tx:
            await ledger.reserve_tokens(tx, poor.user.id, Tokens(1), job_id=a_job_id())


End = Callable[[TenantTx, object], Awaitable[ledger.Receipt]]
ENDS: dict[ReservationEvent, tuple[End, int]] = {
    ReservationEvent.CONSUME: (ledger.consume_tokens, 70),  # type: ignore[dict-item]
    ReservationEvent.REFUND: (ledger.refund_tokens, 100),  # type: ignore[dict-item]
}


@pytest.mark.parametrize("state", list(ReservationStatus))
@pytest.mark.parametrize("event", list(ReservationEvent))
async def test_every_move_of_a_reservation(
    house: House, member: Member, state: ReservationStatus, event: ReservationEvent
) -> None:
    """The lifecycle table against the database: legal moves move, a repeated one replays, all others are refused."""
    job = a_job_id()
    reached = [each for each in ReservationEvent if RESERVATION.target(each) == state]
    async with house.tenant_tx(member.tenant) as tx:
        await ledger.reserve_tokens(tx, member.user.id, Tokens(30), job_id=job)
        for each in reached:
            await ENDS[each][0](tx, job)
    before = await _balance(house, member)
    end, after = ENDS[event]

    async def act() -> ledger.Receipt:
        async with house.tenant_tx(member.tenant) as tx:
            return await end(tx, job)

    if (state, event) in RESERVATION.moves:
        assert (await act()).replayed is False
        assert await _balance(house, member) == after
    elif state == RESERVATION.target(event):
        assert (await act()).replayed is True
        assert await _balance(house, member) == before
    else:
        with pytest.raises(IllegalMove):
            await act()
        assert await _balance(house, member) == before


@pytest.mark.parametrize("end", [ledger.consume_tokens, ledger.refund_tokens])
async def test_a_job_without_a_reservation_cannot_end(house: House, member: Member, end: End) -> None:
    with pytest.raises(NotFound):
        async with house.tenant_tx(member.tenant) as tx:
            await end(tx, a_job_id())
    assert await _balance(house, member) == 100


async def test_consume_and_refund_at_once_give_exactly_one(house: House, member: Member) -> None:
    for _ in range(8):
        job = a_job_id()
        async with house.tenant_tx(member.tenant) as tx:
            await ledger.reserve_tokens(tx, member.user.id, Tokens(10), job_id=job)
        before = await _balance(house, member)

        async def end(verb: End, job: object = job) -> bool:
            try:
                async with house.tenant_tx(member.tenant) as tx:
                    await verb(tx, job)
            except IllegalMove:
                return False
            return True

        consumed, refunded = await asyncio.gather(end(ledger.consume_tokens), end(ledger.refund_tokens))  # type: ignore[arg-type]
        assert consumed != refunded
        assert await _balance(house, member) == before + (10 if refunded else 0)


async def test_of_32_reservations_at_once_a_balance_for_10_allows_10(house: House, member: Member) -> None:
    async def reserve() -> bool:
        try:
            async with house.tenant_tx(member.tenant) as tx:
                await ledger.reserve_tokens(tx, member.user.id, Tokens(10), job_id=a_job_id())
        except InsufficientTokens:
            return False
        return True

    outcomes = await asyncio.gather(*(reserve() for _ in range(32)))
    assert outcomes.count(True) == 10
    assert await _balance(house, member) == 0


async def test_32_reservations_of_one_job_at_once_take_tokens_once(house: House, member: Member) -> None:
    job = a_job_id()

    async def reserve() -> bool:
        async with house.tenant_tx(member.tenant) as tx:
            return (await ledger.reserve_tokens(tx, member.user.id, Tokens(10), job_id=job)).replayed

    outcomes = await asyncio.gather(*(reserve() for _ in range(32)))
    assert outcomes.count(False) == 1
    assert await _balance(house, member) == 90


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE token_transactions SET amount = 1000000",
        "DELETE FROM token_transactions",
        "INSERT OR REPLACE INTO token_transactions SELECT * FROM token_transactions",
        "TRUNCATE token_transactions",
    ],
)
async def test_the_database_itself_refuses_to_change_history(house: House, member: Member, statement: str) -> None:
    pool = house.pool("main")
    only = {"TRUNCATE": "postgresql", "INSERT": "sqlite"}.get(statement.split()[0], pool.engine.dialect.name)
    if pool.engine.dialect.name != only:
        pytest.skip(f"{statement.split()[0]} … is spoken by {only} only")
    with pytest.raises(DBAPIError, match="append-only"):
        async with pool.engine.begin() as connection:
            await connection.execute(sa.text(statement))
    assert await _balance(house, member) == 100


async def test_a_second_end_is_refused_by_index_and_not_only_by_the_verb(house: House, member: Member) -> None:
    """Straight SQL past the verbs: consume after refund must hit the unique index."""
    job = a_job_id()
    async with house.tenant_tx(member.tenant) as tx:
        await ledger.reserve_tokens(tx, member.user.id, Tokens(10), job_id=job)
        await ledger.refund_tokens(tx, job)
    copy = sa.text(
        "INSERT INTO token_transactions (id, tenant_id, wallet_id, type, amount, job_id, created_at) "
        "SELECT :id, tenant_id, wallet_id, 'JOB_CONSUME', 0, job_id, created_at FROM token_transactions "
        "WHERE type = 'JOB_REFUND'"
    ).bindparams(sa.bindparam("id", a_job_id(), type_=sa.Uuid()))
    with pytest.raises(DBAPIError, match=r"(?i)unique"):
        async with house.pool("main").engine.begin() as connection:
            await connection.execute(copy)


async def test_transactions_are_paged_newest_first(house: House, member: Member) -> None:
    for number in range(5):
        async with house.tenant_tx(member.tenant) as tx:
            await ledger.credit_wallet(tx, member.user.id, Tokens(number + 1), provider_transaction_id=f"p{number}")
    amounts: list[int] = []
    request = PageRequest(rows=2)
    while True:
        async with house.tenant_tx(member.tenant, read_only=True) as tx:
            page = await ledger.list_transactions(tx, member.user.id, request)
        assert len(page.rows) <= 2
        amounts += [row.amount for row in page.rows]
        if page.next_cursor is None:
            break
        request = PageRequest.parse(rows=2, cursor=page.next_cursor)
    assert amounts == [5, 4, 3, 2, 1, 100]


async def test_one_tenants_wallet_is_not_anothers(house: House, member: Member) -> None:
    """The same user id, asked for in another tenant of the same pool, has nothing."""
    stranger = await a_member(house)
    async with house.tenant_tx(stranger.tenant) as tx:
        assert (await ledger.get_wallet(tx, member.user.id)).balance == 0
        assert (await ledger.list_transactions(tx, member.user.id, PageRequest())).rows == []


async def test_many_are_reserved_for_at_once_or_none_is(house: House) -> None:
    member = await a_member(house, tokens=10)
    first, second = a_job_id(), a_job_id()
    async with house.tenant_tx(member.tenant) as tx:
        await ledger.reserve_each(tx, member.user.id, {first: Tokens(3), second: Tokens(4)})
    assert await balance(house, member.tenant, member.user) == 3
    with pytest.raises(DuplicateKey):
        async with house.tenant_tx(member.tenant) as tx:
            await ledger.reserve_each(tx, member.user.id, {a_job_id(): Tokens(1), first: Tokens(1)})
    with pytest.raises(InsufficientTokens) as refused:
        async with house.tenant_tx(member.tenant) as tx:
            await ledger.reserve_each(tx, member.user.id, {a_job_id(): Tokens(2), a_job_id(): Tokens(2)})
    assert refused.value.facts == {"required_tokens": 4, "available_tokens": 3}
    assert await balance(house, member.tenant, member.user) == 3


async def test_the_statement_has_one_row_a_job_and_the_balance_after_each(house: House, member: Member) -> None:
    """Pages of each size tell the same; a refund that comes late changes its job's row and all after it."""
    spent, refunded, open_job = a_job_id(), a_job_id(), a_job_id()
    async with house.tenant_tx(member.tenant) as tx:
        for job, price in ((refunded, 30), (spent, 20)):
            await ledger.reserve_tokens(tx, member.user.id, Tokens(price), job_id=job)
        await ledger.credit_wallet(tx, member.user.id, Tokens(7), provider_transaction_id="shop-2")
        await ledger.reserve_tokens(tx, member.user.id, Tokens(5), job_id=open_job)
        before = (await ledger.list_entries(tx, member.user.id, PageRequest(rows=10))).rows
        await ledger.consume_tokens(tx, spent)
        await ledger.refund_tokens(tx, refunded)
    told = [(each.state.value, each.amount, each.price, each.balance_after, each.job_id) for each in before]
    assert [each[:4] for each in told][:2] == [("reserved", -5, 5, 52), ("added", 7, 0, 57)]
    for rows in (1, 2, 3, 10):
        entries: list[ledger.Entry] = []
        request = PageRequest(rows=rows)
        async with house.tenant_tx(member.tenant, read_only=True) as tx:
            while True:
                page = await ledger.list_entries(tx, member.user.id, request)
                entries += page.rows
                if page.next_cursor is None:
                    break
                request = PageRequest.parse(rows=rows, cursor=page.next_cursor)
        told = [(each.state.value, each.amount, each.price, each.balance_after, each.job_id) for each in entries]
        assert told == [
            ("reserved", -5, 5, 82, open_job),
            ("added", 7, 0, 87, None),
            ("spent", -20, 20, 80, spent),
            ("refunded", 0, 30, 100, refunded),
            ("added", 100, 0, 100, None),
        ]
        assert entries[0].balance_after == await _balance(house, member)
        assert [each.ended_at is not None for each in entries] == [False, False, True, True, False]


async def test_a_statement_holds_its_own_users_rows_only(house: House, member: Member) -> None:
    other = await a_member(house, tokens=3)
    async with house.tenant_tx(other.tenant, read_only=True) as tx:
        rows = (await ledger.list_entries(tx, other.user.id, PageRequest(rows=10))).rows
        assert [(each.amount, each.balance_after) for each in rows] == [(3, 3)]
        assert (await ledger.list_entries(tx, member.user.id, PageRequest(rows=10))).rows == []
