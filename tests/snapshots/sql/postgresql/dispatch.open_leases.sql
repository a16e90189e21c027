SELECT ai_job_dispatches.id, ai_job_dispatches.epoch, ai_job_dispatches.lease_hash, ai_job_dispatches.worker_id, ai_job_dispatches.incarnation, dispatch_attempts.nonce
FROM ai_job_dispatches
JOIN dispatch_attempts ON dispatch_attempts.dispatch_id = ai_job_dispatches.id
AND dispatch_attempts.epoch = ai_job_dispatches.epoch
WHERE ai_job_dispatches.status = 'leased'
AND ai_job_dispatches.worker_id = %(worker_id_1)s::UUID
ORDER BY ai_job_dispatches.id
