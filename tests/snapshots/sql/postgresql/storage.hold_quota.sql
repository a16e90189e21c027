SELECT %(param_1)s::INTEGER AS one, pg_advisory_xact_lock(hashtextextended(CAST(%(param_2)s::VARCHAR || CAST(%(bound_tenant_id)s::UUID AS TEXT) AS text), 0)) AS anon_1
