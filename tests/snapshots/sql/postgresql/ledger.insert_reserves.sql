INSERT INTO token_transactions (id, tenant_id, wallet_id, type, amount, job_id, created_at)
VALUES (%(id)s::UUID, %(bound_tenant_id)s::UUID, %(wallet_id)s::UUID, %(type)s::VARCHAR, %(amount)s::BIGINT, %(job_id)s::UUID, (clock_timestamp() + make_interval(secs => %(clock_offset_s)s + %(plus_s_1)s)))
ON CONFLICT DO NOTHING
RETURNING token_transactions.job_id
