SELECT DISTINCT lanes.id AS lane, lanes.workflow_id, lanes.structure_hash, lanes.provider, ai_job_dispatches.tenant_id
FROM lanes
JOIN ai_job_dispatches ON ai_job_dispatches.id IN (SELECT "inner".id
FROM ai_job_dispatches AS "inner"
WHERE "inner".lane = lanes.id
AND "inner".status = ?
ORDER BY "inner".fair_tag, "inner".seq
LIMIT ? OFFSET ?)
WHERE ai_job_dispatches.queued_at < (strftime('%Y-%m-%dT%H:%M:%f', 'now', (? + ?) || ' seconds') || '000Z')
