SELECT "begin".id, "begin".tenant_id, "begin".wallet_id, "begin".type, "begin".amount, "begin".job_id, "begin".provider_transaction_id, "begin".created_at, anon_1.type AS end_type, anon_1.amount AS end_amount, anon_1.created_at AS ended_at, token_wallets.balance, ? AS newer
FROM token_transactions AS "begin"
JOIN token_wallets ON token_wallets.id = "begin".wallet_id
LEFT OUTER
JOIN (SELECT token_transactions.job_id AS job_id, token_transactions.type AS type, token_transactions.amount AS amount, token_transactions.created_at AS created_at
FROM token_transactions
WHERE token_transactions.tenant_id = ?
AND token_transactions.type IN (__[POSTCOMPILE_type_1])) AS anon_1 ON anon_1.job_id = "begin".job_id
AND "begin".type = ?
WHERE "begin".tenant_id = ?
AND token_wallets.tenant_id = ?
AND token_wallets.user_id = ?
AND "begin".type IN (__[POSTCOMPILE_type_3])
ORDER BY "begin".id DESC
LIMIT ? OFFSET ?
