SELECT ai_job_dispatches.id, ai_job_dispatches.lane, ai_job_dispatches.tenant_id, ((julianday((strftime('%Y-%m-%dT%H:%M:%f', 'now', (? + ?) || ' seconds') || '000Z')) - julianday(ai_job_dispatches.queued_at)) * 86400.0) AS waited_s, ai_job_dispatches.epoch, ai_job_dispatches.run_deadline_s, ai_job_dispatches.attempts, ai_job_dispatches.fair_tag, ai_job_dispatches.seq
FROM (SELECT json_extract(value, '$.lane') AS lane, json_extract(value, '$.floor_tag') AS floor_tag, json_extract(value, '$.floor_seq') AS floor_seq
FROM json_each(?)) AS b
JOIN ai_job_dispatches ON ai_job_dispatches.id IN (SELECT "inner".id
FROM ai_job_dispatches AS "inner"
WHERE "inner".lane = b.lane
AND "inner".status = 'queued'
AND ("inner".fair_tag, "inner".seq) > (b.floor_tag, b.floor_seq)
ORDER BY "inner".fair_tag, "inner".seq
LIMIT ? OFFSET ?)
ORDER BY ai_job_dispatches.lane, ai_job_dispatches.fair_tag, ai_job_dispatches.seq
