SELECT found.id, found.worker_id, found.incarnation, found.worker_incarnation, count(*) OVER () AS total
FROM (SELECT ai_job_dispatches.id AS id, comfyui_workers.worker_id AS worker_id, ai_job_dispatches.incarnation AS incarnation, comfyui_workers.incarnation AS worker_incarnation
FROM ai_job_dispatches
JOIN comfyui_workers ON comfyui_workers.id = ai_job_dispatches.worker_id
WHERE ai_job_dispatches.status = %(status_1)s::VARCHAR
AND ai_job_dispatches.incarnation != comfyui_workers.incarnation) AS found
LIMIT %(param_1)s::INTEGER
