SELECT node_definitions.digest
FROM node_definitions
WHERE node_definitions.worker_id = %(worker_id_1)s::VARCHAR
ORDER BY node_definitions.seen_at DESC, node_definitions.digest
LIMIT %(param_1)s::INTEGER OFFSET %(param_2)s::INTEGER
