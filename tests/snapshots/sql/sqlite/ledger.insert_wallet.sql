INSERT INTO token_wallets (id, tenant_id, user_id, balance, created_at)
VALUES (?, ?, ?, ?, (strftime('%Y-%m-%dT%H:%M:%f', 'now', (? + ?) || ' seconds') || '000Z'))
ON CONFLICT DO NOTHING
RETURNING id, tenant_id, user_id, balance, created_at
