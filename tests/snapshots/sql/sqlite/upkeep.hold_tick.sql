SELECT ((julianday((strftime('%Y-%m-%dT%H:%M:%f', 'now', (? + ?) || ' seconds') || '000Z')) - julianday(upkeep_ticks.ticked_at)) * 86400.0) AS since_s
FROM upkeep_ticks
WHERE upkeep_ticks.loop = ?
