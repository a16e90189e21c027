SELECT attempt_results.result_metadata
FROM attempt_results
WHERE attempt_results.dispatch_id = ?
AND attempt_results.epoch = ?
ORDER BY attempt_results.epoch DESC
LIMIT ? OFFSET ?
