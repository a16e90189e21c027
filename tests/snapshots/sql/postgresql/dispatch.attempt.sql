SELECT dispatch_attempts.dispatch_id, dispatch_attempts.epoch, dispatch_attempts.nonce, dispatch_attempts.poll_id, dispatch_attempts.worker_id, dispatch_attempts.incarnation, dispatch_attempts.granted_at, dispatch_attempts.confirmed_at, dispatch_attempts.ended_at, dispatch_attempts.reason, dispatch_attempts.request_digest, dispatch_attempts.answered_status, dispatch_attempts.provider_job_id, dispatch_attempts.service_reason
FROM dispatch_attempts
WHERE dispatch_attempts.dispatch_id = %(dispatch_id_1)s::UUID
AND dispatch_attempts.epoch = %(epoch_1)s::BIGINT
