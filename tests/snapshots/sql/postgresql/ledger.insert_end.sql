INSERT INTO token_transactions (id, tenant_id, wallet_id, type, amount, job_id, created_at)
SELECT %(end_id)s::UUID AS anon_1, %(bound_tenant_id)s::UUID AS tenant_id, token_transactions.wallet_id, %(param_1)s::VARCHAR AS anon_2, -token_transactions.amount, token_transactions.job_id, (clock_timestamp() + make_interval(secs => %(clock_offset_s)s + %(plus_s_1)s)) AS anon_3
FROM token_transactions
WHERE token_transactions.tenant_id = %(bound_tenant_id)s::UUID
AND token_transactions.job_id = %(of_job_id)s::UUID
AND token_transactions.type = %(type_1)s::VARCHAR
ON CONFLICT DO NOTHING
RETURNING token_transactions.id, token_transactions.tenant_id, token_transactions.wallet_id, token_transactions.type, token_transactions.amount, token_transactions.job_id, token_transactions.provider_transaction_id, token_transactions.created_at
