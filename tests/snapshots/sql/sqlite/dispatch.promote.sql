WITH due AS (SELECT ai_job_dispatches.id AS id
FROM ai_job_dispatches
WHERE ai_job_dispatches.status = 'delayed'
AND ai_job_dispatches.run_at <= (strftime('%Y-%m-%dT%H:%M:%f', 'now', (? + ?) || ' seconds') || '000Z')
ORDER BY ai_job_dispatches.run_at
LIMIT ? OFFSET ?) UPDATE ai_job_dispatches
SET status=?, run_at=?
WHERE ai_job_dispatches.id IN (SELECT due.id
FROM due)
AND ai_job_dispatches.status IN (__[POSTCOMPILE_status_1])
RETURNING id, lane
