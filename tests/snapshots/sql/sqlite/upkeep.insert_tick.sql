INSERT INTO upkeep_ticks (loop, ticked_at)
VALUES (?, (strftime('%Y-%m-%dT%H:%M:%f', 'now', (? + ?) || ' seconds') || '000Z'))
ON CONFLICT DO NOTHING
RETURNING loop
