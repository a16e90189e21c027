INSERT INTO attempt_results (dispatch_id, epoch, result_metadata, created_at)
SELECT b.id, b.epoch, b.result_metadata, (strftime('%Y-%m-%dT%H:%M:%f', 'now', (? + ?) || ' seconds') || '000Z') AS anon_1
FROM (SELECT replace(json_extract(value, '$.id'), '-', '') AS id, json_extract(value, '$.epoch') AS epoch, json_extract(value, '$.result_metadata') AS result_metadata
FROM json_each(?)) AS b
