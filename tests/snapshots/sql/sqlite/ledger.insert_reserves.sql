INSERT INTO token_transactions (id, tenant_id, wallet_id, type, amount, job_id, created_at)
VALUES (?, ?, ?, ?, ?, ?, (strftime('%Y-%m-%dT%H:%M:%f', 'now', (? + ?) || ' seconds') || '000Z'))
ON CONFLICT DO NOTHING
RETURNING job_id
