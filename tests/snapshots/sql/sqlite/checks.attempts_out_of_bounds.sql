SELECT found.id, found.attempts, found.max_attempts, found.releases, found.max_releases, count(*) OVER () AS total
FROM (SELECT ai_job_dispatches.id AS id, ai_job_dispatches.attempts AS attempts, ai_job_dispatches.max_attempts AS max_attempts, ai_job_dispatches.releases AS releases, ai_job_dispatches.max_releases AS max_releases
FROM ai_job_dispatches
WHERE ai_job_dispatches.attempts > ai_job_dispatches.max_attempts + ai_job_dispatches.releases OR ai_job_dispatches.releases > ai_job_dispatches.max_releases) AS found
LIMIT ? OFFSET ?
