SELECT ai_job_dispatches.id, ai_job_dispatches.lane, ai_job_dispatches.tenant_id, lanes.structure_hash, ai_job_dispatches.priority, ((julianday((strftime('%Y-%m-%dT%H:%M:%f', 'now', (? + ?) || ' seconds') || '000Z')) - julianday(ai_job_dispatches.queued_at)) * 86400.0) AS waited_s, ai_job_dispatches.epoch, ai_job_dispatches.run_deadline_s
FROM (SELECT json_extract(value, '$.lane') AS lane
FROM json_each(?)) AS asked
JOIN ai_job_dispatches ON ai_job_dispatches.id IN (SELECT "inner".id
FROM ai_job_dispatches AS "inner"
WHERE "inner".lane = asked.lane
AND "inner".status = ?
ORDER BY "inner".fair_tag, "inner".seq
LIMIT ? OFFSET ?)
JOIN lanes ON lanes.id = ai_job_dispatches.lane
ORDER BY ai_job_dispatches.lane, ai_job_dispatches.fair_tag, ai_job_dispatches.seq
