SELECT upkeep_ticks.loop
FROM upkeep_ticks
WHERE upkeep_ticks.loop = %(loop_1)s::VARCHAR
