SELECT found.worker_id, found.incarnation, found.held, found.allowed, count(*) OVER () AS total
FROM (SELECT comfyui_workers.worker_id AS worker_id, ai_job_dispatches.incarnation AS incarnation, count(*) AS held, %(max_concurrency_1)s::INTEGER * comfyui_workers.max_concurrency + %(param_1)s::INTEGER AS allowed
FROM ai_job_dispatches
JOIN comfyui_workers ON comfyui_workers.id = ai_job_dispatches.worker_id
WHERE ai_job_dispatches.status = %(status_1)s::VARCHAR GROUP BY comfyui_workers.worker_id, ai_job_dispatches.incarnation, comfyui_workers.max_concurrency HAVING count(*) > %(max_concurrency_1)s::INTEGER * comfyui_workers.max_concurrency + %(param_1)s::INTEGER) AS found
LIMIT %(param_2)s::INTEGER
