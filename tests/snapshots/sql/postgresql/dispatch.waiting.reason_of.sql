SELECT waiting_reasons.reason
FROM waiting_reasons
WHERE waiting_reasons.lane = %(lane_1)s::INTEGER
AND (waiting_reasons.tenant_id IS NULL OR waiting_reasons.tenant_id = %(tenant_id_1)s::UUID)
ORDER BY waiting_reasons.id
LIMIT %(param_1)s::INTEGER
