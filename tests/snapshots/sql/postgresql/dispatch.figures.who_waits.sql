SELECT ai_job_dispatches.lane, ai_job_dispatches.tenant_id, count(*) AS queued, EXTRACT(EPOCH
FROM ((clock_timestamp() + make_interval(secs => %(clock_offset_s)s + %(plus_s_1)s))) - (min(ai_job_dispatches.queued_at)))::float8 AS oldest_s
FROM (SELECT *
FROM jsonb_to_recordset(CAST(%(rows_lane)s::VARCHAR AS jsonb)) AS r(lane INTEGER)) AS b
JOIN ai_job_dispatches ON ai_job_dispatches.id = ANY(ARRAY(SELECT front.id
FROM ai_job_dispatches AS front
WHERE front.lane = b.lane
AND front.status = 'queued'
ORDER BY front.fair_tag, front.seq
LIMIT %(param_1)s::INTEGER)) GROUP BY ai_job_dispatches.lane, ai_job_dispatches.tenant_id
