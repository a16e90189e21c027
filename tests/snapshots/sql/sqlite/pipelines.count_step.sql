UPDATE pipeline_run_steps
SET made=(pipeline_run_steps.made + ?), alive=(pipeline_run_steps.alive + ?), in_flight=(pipeline_run_steps.in_flight + ?), started=(pipeline_run_steps.started + ?), failures=(pipeline_run_steps.failures + ?), votes=(pipeline_run_steps.votes + ?)
WHERE pipeline_run_steps.tenant_id = ?
AND pipeline_run_steps.run_id = ?
AND pipeline_run_steps.position = ?
