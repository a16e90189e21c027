UPDATE token_wallets
SET balance=(token_wallets.balance - %(amount)s::BIGINT)
WHERE token_wallets.tenant_id = %(bound_tenant_id)s::UUID
AND token_wallets.user_id = %(of_user_id)s::UUID
AND token_wallets.balance >= %(amount)s::BIGINT
RETURNING token_wallets.id
