UPDATE upkeep_ticks
SET ticked_at=(strftime('%Y-%m-%dT%H:%M:%f', 'now', (? + ?) || ' seconds') || '000Z')
WHERE upkeep_ticks.loop = ?
AND upkeep_ticks.ticked_at <= (strftime('%Y-%m-%dT%H:%M:%f', 'now', (? + ?) || ' seconds') || '000Z')
RETURNING loop
