SELECT found.worker_id, found.incarnation, found.held, found.allowed, count(*) OVER () AS total
FROM (SELECT comfyui_workers.worker_id AS worker_id, ai_job_dispatches.incarnation AS incarnation, count(*) AS held, ? * comfyui_workers.max_concurrency + ? AS allowed
FROM ai_job_dispatches
JOIN comfyui_workers ON comfyui_workers.id = ai_job_dispatches.worker_id
WHERE ai_job_dispatches.status = ? GROUP BY comfyui_workers.worker_id, ai_job_dispatches.incarnation, comfyui_workers.max_concurrency HAVING count(*) > ? * comfyui_workers.max_concurrency + ?) AS found
LIMIT ? OFFSET ?
