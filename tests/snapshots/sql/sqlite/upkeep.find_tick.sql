SELECT upkeep_ticks.loop
FROM upkeep_ticks
WHERE upkeep_ticks.loop = ?
