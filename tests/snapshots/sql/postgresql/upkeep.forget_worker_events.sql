DELETE
FROM worker_audit_log
WHERE worker_audit_log.id IN (SELECT oldest.id
FROM (SELECT worker_audit_log.id AS id, worker_audit_log.at AS at
FROM worker_audit_log
ORDER BY worker_audit_log.id
LIMIT %(param_1)s::INTEGER) AS oldest
WHERE oldest.at < (clock_timestamp() + make_interval(secs => %(clock_offset_s)s + %(plus_s_1)s)))
