INSERT INTO token_transactions (id, tenant_id, wallet_id, type, amount, job_id, created_at)
SELECT ? AS anon_1, ? AS tenant_id, token_transactions.wallet_id, ? AS anon_2, -token_transactions.amount, token_transactions.job_id, (strftime('%Y-%m-%dT%H:%M:%f', 'now', (? + ?) || ' seconds') || '000Z') AS anon_3
FROM token_transactions
WHERE token_transactions.tenant_id = ?
AND token_transactions.job_id = ?
AND token_transactions.type = ?
ON CONFLICT DO NOTHING
RETURNING id, tenant_id, wallet_id, type, amount, job_id, provider_transaction_id, created_at
