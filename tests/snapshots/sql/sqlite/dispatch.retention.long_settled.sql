SELECT ai_job_dispatches.id
FROM ai_job_dispatches
JOIN settlements ON settlements.dispatch_id = ai_job_dispatches.id
WHERE ai_job_dispatches.finished_at < (strftime('%Y-%m-%dT%H:%M:%f', 'now', (? + ?) || ' seconds') || '000Z')
AND ai_job_dispatches.settled_at IS NOT NULL
AND settlements.applied_at IS NOT NULL
LIMIT ? OFFSET ?
