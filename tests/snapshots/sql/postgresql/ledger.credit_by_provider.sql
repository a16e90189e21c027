SELECT token_transactions.id, token_transactions.tenant_id, token_transactions.wallet_id, token_transactions.type, token_transactions.amount, token_transactions.job_id, token_transactions.provider_transaction_id, token_transactions.created_at
FROM token_transactions
WHERE token_transactions.tenant_id = %(bound_tenant_id)s::UUID
AND token_transactions.provider_transaction_id = %(provider_transaction_id_1)s::VARCHAR
