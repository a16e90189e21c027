SELECT ai_job_dispatches.id, ai_job_dispatches.lane, ai_job_dispatches.tenant_id, EXTRACT(EPOCH
FROM ((clock_timestamp() + make_interval(secs => %(clock_offset_s)s + %(plus_s_1)s))) - (ai_job_dispatches.queued_at))::float8 AS waited_s, ai_job_dispatches.epoch, ai_job_dispatches.run_deadline_s, ai_job_dispatches.attempts, ai_job_dispatches.fair_tag, ai_job_dispatches.seq
FROM (SELECT *
FROM jsonb_to_recordset(CAST(%(rows)s::VARCHAR AS jsonb)) AS r(lane INTEGER, floor_tag DOUBLE PRECISION, floor_seq BIGINT)) AS b
JOIN ai_job_dispatches ON ai_job_dispatches.id = ANY(ARRAY(SELECT "inner".id
FROM ai_job_dispatches AS "inner"
WHERE "inner".lane = b.lane
AND "inner".status = 'queued'
AND ("inner".fair_tag, "inner".seq) > (b.floor_tag, b.floor_seq)
ORDER BY "inner".fair_tag, "inner".seq
LIMIT %(each)s::INTEGER))
ORDER BY ai_job_dispatches.lane, ai_job_dispatches.fair_tag, ai_job_dispatches.seq
