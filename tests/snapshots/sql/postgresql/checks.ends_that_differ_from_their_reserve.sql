SELECT found.tenant_id, found.job_id, found.type, found.amount, found.reserved, count(*) OVER () AS total
FROM (SELECT token_transactions.tenant_id AS tenant_id, token_transactions.job_id AS job_id, token_transactions.type AS type, token_transactions.amount AS amount, reserve.amount AS reserved
FROM token_transactions
LEFT OUTER
JOIN token_transactions AS reserve ON reserve.tenant_id = token_transactions.tenant_id
AND reserve.job_id = token_transactions.job_id
AND reserve.type = %(type_1)s::VARCHAR
WHERE token_transactions.type IN (__[POSTCOMPILE_type_2])
AND (reserve.id IS NULL OR token_transactions.amount != CASE WHEN (token_transactions.type = %(type_3)s::VARCHAR) THEN -reserve.amount ELSE %(param_1)s::INTEGER END OR token_transactions.wallet_id != reserve.wallet_id)) AS found
LIMIT %(param_2)s::INTEGER
