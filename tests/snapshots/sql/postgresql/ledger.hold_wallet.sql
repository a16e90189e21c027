SELECT token_wallets.id, token_wallets.tenant_id, token_wallets.user_id, token_wallets.balance, token_wallets.created_at
FROM token_wallets
WHERE token_wallets.tenant_id = %(bound_tenant_id)s::UUID
AND token_wallets.user_id = %(user_id)s::UUID FOR NO KEY UPDATE
