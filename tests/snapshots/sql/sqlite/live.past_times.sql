SELECT effects.workflow_id, avg(effects.last_processing_time_seconds) AS past_s
FROM effects
WHERE effects.workflow_id IN (__[POSTCOMPILE_workflow_id_1])
AND effects.last_processing_time_seconds IS NOT NULL GROUP BY effects.workflow_id
