SELECT lanes.workflow_id, min(waiting_reasons.reason) AS reason
FROM waiting_reasons
JOIN lanes ON lanes.id = waiting_reasons.lane GROUP BY lanes.workflow_id
