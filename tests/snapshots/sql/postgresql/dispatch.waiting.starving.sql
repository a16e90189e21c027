SELECT DISTINCT lanes.id AS lane, lanes.workflow_id, lanes.structure_hash, lanes.provider, ai_job_dispatches.tenant_id
FROM lanes
JOIN ai_job_dispatches ON ai_job_dispatches.id = ANY(ARRAY(SELECT "inner".id
FROM ai_job_dispatches AS "inner"
WHERE "inner".lane = lanes.id
AND "inner".status = %(status_1)s::VARCHAR
ORDER BY "inner".fair_tag, "inner".seq
LIMIT %(param_1)s::INTEGER))
WHERE ai_job_dispatches.queued_at < (clock_timestamp() + make_interval(secs => %(clock_offset_s)s + %(plus_s_1)s))
