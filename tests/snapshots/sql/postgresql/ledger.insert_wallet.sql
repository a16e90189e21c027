INSERT INTO token_wallets (id, tenant_id, user_id, balance, created_at)
VALUES (%(id)s::UUID, %(bound_tenant_id)s::UUID, %(user_id)s::UUID, %(balance)s::BIGINT, (clock_timestamp() + make_interval(secs => %(clock_offset_s)s + %(plus_s_1)s)))
ON CONFLICT DO NOTHING
RETURNING token_wallets.id, token_wallets.tenant_id, token_wallets.user_id, token_wallets.balance, token_wallets.created_at
