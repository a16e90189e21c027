SELECT count(*) AS delayed
FROM (SELECT ai_job_dispatches.run_at AS run_at
FROM ai_job_dispatches
WHERE ai_job_dispatches.status = 'delayed'
LIMIT ? OFFSET ?) AS some
