SELECT node_definitions.digest
FROM node_definitions
WHERE node_definitions.worker_id = ?
ORDER BY node_definitions.seen_at DESC, node_definitions.digest
LIMIT ? OFFSET ?
