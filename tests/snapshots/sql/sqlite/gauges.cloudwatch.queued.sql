SELECT lanes.workflow_id, (SELECT count(*) AS count_1
FROM (SELECT front.lane AS lane
FROM ai_job_dispatches AS front
WHERE front.lane = lanes.id
AND front.status = 'queued'
LIMIT ? OFFSET ?) AS some) AS queued
FROM lanes
