SELECT pipeline_run_steps.tenant_id, pipeline_run_steps.run_id, pipeline_run_steps.position, pipeline_run_steps.variants, pipeline_run_steps.approved_at, pipeline_run_steps.approved_by, pipeline_run_steps.top, pipeline_run_steps.made, pipeline_run_steps.alive, pipeline_run_steps.in_flight, pipeline_run_steps.started, pipeline_run_steps.failures, pipeline_run_steps.votes
FROM pipeline_run_steps
WHERE pipeline_run_steps.tenant_id = ?
AND pipeline_run_steps.run_id IN (?)
ORDER BY pipeline_run_steps.run_id, pipeline_run_steps.position
