SELECT pg_advisory_xact_lock(hashtextextended(CAST(%(bound_tenant_id)s::UUID AS text), 0)) AS anon_1
