SELECT node_definitions.digest, node_definitions.worker_id, node_definitions.classes, node_definitions.size_bytes, node_definitions.created_at, node_definitions.seen_at
FROM node_definitions
ORDER BY node_definitions.seen_at DESC, node_definitions.digest
LIMIT ? OFFSET ?
