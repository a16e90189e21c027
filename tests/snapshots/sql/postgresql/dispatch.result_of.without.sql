SELECT attempt_results.result_metadata
FROM attempt_results
WHERE attempt_results.dispatch_id = %(dispatch_id_1)s::UUID
ORDER BY attempt_results.epoch DESC
LIMIT %(param_1)s::INTEGER
