SELECT ai_job_dispatches.lane, ai_job_dispatches.tenant_id, count(*) AS queued, ((julianday((strftime('%Y-%m-%dT%H:%M:%f', 'now', (? + ?) || ' seconds') || '000Z')) - julianday(min(ai_job_dispatches.queued_at))) * 86400.0) AS oldest_s
FROM (SELECT json_extract(value, '$.lane') AS lane
FROM json_each(?)) AS b
JOIN ai_job_dispatches ON ai_job_dispatches.id IN (SELECT front.id
FROM ai_job_dispatches AS front
WHERE front.lane = b.lane
AND front.status = 'queued'
ORDER BY front.fair_tag, front.seq
LIMIT ? OFFSET ?) GROUP BY ai_job_dispatches.lane, ai_job_dispatches.tenant_id
