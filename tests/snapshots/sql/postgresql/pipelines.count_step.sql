UPDATE pipeline_run_steps
SET made=(pipeline_run_steps.made + %(by_made)s::INTEGER), alive=(pipeline_run_steps.alive + %(by_alive)s::INTEGER), in_flight=(pipeline_run_steps.in_flight + %(by_in_flight)s::INTEGER), started=(pipeline_run_steps.started + %(by_started)s::INTEGER), failures=(pipeline_run_steps.failures + %(by_failures)s::INTEGER), votes=(pipeline_run_steps.votes + %(by_votes)s::INTEGER)
WHERE pipeline_run_steps.tenant_id = %(bound_tenant_id)s::UUID
AND pipeline_run_steps.run_id = %(of_run)s::UUID
AND pipeline_run_steps.position = %(at_step)s::INTEGER
