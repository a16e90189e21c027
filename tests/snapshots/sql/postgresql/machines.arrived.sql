SELECT counted.jobs, workflows.expected_s, (SELECT count(*) AS count_1
FROM comfyui_workflow_fleets AS other
JOIN fleet_scaling ON fleet_scaling.fleet_id = other.fleet_id
WHERE other.workflow_id = workflows.id
AND other.is_active) AS fleets
FROM (SELECT ai_job_dispatches.workflow_id AS workflow_id, count(*) AS jobs
FROM ai_job_dispatches
WHERE ai_job_dispatches.id >= %(id_1)s::UUID
AND ai_job_dispatches.id < %(id_2)s::UUID GROUP BY ai_job_dispatches.workflow_id) AS counted
JOIN comfyui_workflow_fleets ON comfyui_workflow_fleets.workflow_id = counted.workflow_id
AND comfyui_workflow_fleets.fleet_id = %(fleet_id_1)s::UUID
AND comfyui_workflow_fleets.is_active
JOIN workflows ON workflows.id = counted.workflow_id
