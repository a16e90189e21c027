SELECT lanes.workflow_id, lanes.structure_hash, lanes.provider, workflows.expected_s, (SELECT count(*) AS count_1
FROM (SELECT front.lane AS lane
FROM ai_job_dispatches AS front
WHERE front.lane = lanes.id
AND front.status = 'queued'
LIMIT %(param_1)s::INTEGER) AS "some") AS queued, (SELECT count(*) AS count_2
FROM comfyui_workflow_fleets AS other
JOIN fleet_scaling ON fleet_scaling.fleet_id = other.fleet_id
WHERE other.workflow_id = lanes.workflow_id
AND other.is_active) AS fleets
FROM lanes
JOIN comfyui_workflow_fleets ON comfyui_workflow_fleets.workflow_id = lanes.workflow_id
AND comfyui_workflow_fleets.fleet_id = %(fleet_id_1)s::UUID
AND comfyui_workflow_fleets.is_active
JOIN workflows ON workflows.id = lanes.workflow_id
AND workflows.is_active
