SELECT waiting_reasons.reason
FROM waiting_reasons
WHERE waiting_reasons.lane = ?
AND (waiting_reasons.tenant_id IS NULL OR waiting_reasons.tenant_id = ?)
ORDER BY waiting_reasons.id
LIMIT ? OFFSET ?
