SELECT begin.id, begin.tenant_id, begin.wallet_id, begin.type, begin.amount, begin.job_id, begin.provider_transaction_id, begin.created_at, anon_1.type AS end_type, anon_1.amount AS end_amount, anon_1.created_at AS ended_at, token_wallets.balance, (SELECT CAST(coalesce(sum(newer_begin.amount + coalesce(anon_2.amount, %(coalesce_2)s::INTEGER)), %(coalesce_3)s::INTEGER) AS BIGINT) AS coalesce_1
FROM token_transactions AS newer_begin
LEFT OUTER
JOIN (SELECT token_transactions.job_id AS job_id, token_transactions.type AS type, token_transactions.amount AS amount, token_transactions.created_at AS created_at
FROM token_transactions
WHERE token_transactions.tenant_id = %(bound_tenant_id)s::UUID
AND token_transactions.type IN (__[POSTCOMPILE_type_1])) AS anon_2 ON anon_2.job_id = newer_begin.job_id
AND newer_begin.type = %(type_2)s::VARCHAR
WHERE newer_begin.tenant_id = %(bound_tenant_id)s::UUID
AND token_wallets.tenant_id = %(bound_tenant_id)s::UUID
AND newer_begin.wallet_id = token_wallets.id
AND newer_begin.type IN (__[POSTCOMPILE_type_3])
AND newer_begin.id >= %(id_1)s::UUID) AS newer
FROM token_transactions AS begin
JOIN token_wallets ON token_wallets.id = begin.wallet_id
LEFT OUTER
JOIN (SELECT token_transactions.job_id AS job_id, token_transactions.type AS type, token_transactions.amount AS amount, token_transactions.created_at AS created_at
FROM token_transactions
WHERE token_transactions.tenant_id = %(bound_tenant_id)s::UUID
AND token_transactions.type IN (__[POSTCOMPILE_type_4])) AS anon_1 ON anon_1.job_id = begin.job_id
AND begin.type = %(type_5)s::VARCHAR
WHERE begin.tenant_id = %(bound_tenant_id)s::UUID
AND token_wallets.tenant_id = %(bound_tenant_id)s::UUID
AND token_wallets.user_id = %(user_id_1)s::UUID
AND begin.type IN (__[POSTCOMPILE_type_6])
AND begin.id < %(id_2)s::UUID
ORDER BY begin.id DESC
LIMIT %(param_1)s::INTEGER
