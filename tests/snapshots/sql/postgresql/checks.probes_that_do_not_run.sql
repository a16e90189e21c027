SELECT found.worker_id, found.structure_hash, found.probe_dispatch_id, found.status, count(*) OVER () AS total
FROM (SELECT failover_blocks.worker_id AS worker_id, failover_blocks.structure_hash AS structure_hash, failover_blocks.probe_dispatch_id AS probe_dispatch_id, ai_job_dispatches.status AS status
FROM failover_blocks
JOIN ai_job_dispatches ON ai_job_dispatches.id = failover_blocks.probe_dispatch_id
WHERE ai_job_dispatches.status != %(status_1)s::VARCHAR) AS found
LIMIT %(param_1)s::INTEGER
