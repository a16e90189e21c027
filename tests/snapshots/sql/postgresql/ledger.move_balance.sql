UPDATE token_wallets
SET balance=(token_wallets.balance + %(amount)s::BIGINT)
WHERE token_wallets.tenant_id = %(bound_tenant_id)s::UUID
AND token_wallets.id = %(wallet_id)s::UUID
AND token_wallets.balance >= -%(amount)s::BIGINT
AND token_wallets.balance <= %(param_1)s::BIGINT - %(amount)s::BIGINT
RETURNING token_wallets.balance
