UPDATE pipeline_run_steps
SET made=(pipeline_run_steps.made + %(made_1)s::INTEGER), alive=(pipeline_run_steps.alive + %(alive_1)s::INTEGER), in_flight=(pipeline_run_steps.in_flight + %(in_flight_1)s::INTEGER), started=(pipeline_run_steps.started + %(started_1)s::INTEGER), failures=(pipeline_run_steps.failures + %(failures_1)s::INTEGER), votes=(pipeline_run_steps.votes + %(votes_1)s::INTEGER)
WHERE pipeline_run_steps.tenant_id = %(bound_tenant_id)s::UUID
AND pipeline_run_steps.run_id = %(run_id_1)s::UUID
AND pipeline_run_steps.position = %(position_1)s::INTEGER
