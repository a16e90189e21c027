UPDATE token_wallets
SET balance=(token_wallets.balance + %(balance_1)s::BIGINT)
WHERE token_wallets.tenant_id = %(bound_tenant_id)s::UUID
AND token_wallets.id = %(id_1)s::UUID
AND token_wallets.balance >= %(balance_2)s::BIGINT
AND token_wallets.balance <= %(balance_3)s::BIGINT
RETURNING token_wallets.balance
