SELECT token_transactions.id, token_transactions.tenant_id, token_transactions.wallet_id, token_transactions.type, token_transactions.amount, token_transactions.job_id, token_transactions.provider_transaction_id, token_transactions.created_at
FROM token_transactions
JOIN token_wallets ON token_wallets.tenant_id = %(bound_tenant_id)s::UUID
AND token_wallets.id = token_transactions.wallet_id
WHERE token_transactions.tenant_id = %(bound_tenant_id)s::UUID
AND token_wallets.user_id = %(user_id_1)s::UUID
ORDER BY token_transactions.id DESC
LIMIT %(param_1)s::INTEGER
