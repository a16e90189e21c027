INSERT INTO pipelines (id, tenant_id, slug, version, name, description, steps, created_by, created_at)
VALUES (%(id)s::UUID, %(bound_tenant_id)s::UUID, %(slug)s::VARCHAR, %(version)s::INTEGER, %(name)s::VARCHAR, %(description)s::VARCHAR, %(steps)s::JSONB, %(created_by)s::UUID, (clock_timestamp() + make_interval(secs => %(clock_offset_s)s + %(plus_s_1)s)))
ON CONFLICT DO NOTHING
RETURNING pipelines.id, pipelines.tenant_id, pipelines.slug, pipelines.version, pipelines.name, pipelines.description, pipelines.steps, pipelines.created_by, pipelines.created_at, pipelines.archived_at
