SELECT ai_job_dispatches.workflow_id, count(*) AS running
FROM ai_job_dispatches
WHERE ai_job_dispatches.status = 'leased' GROUP BY ai_job_dispatches.workflow_id
