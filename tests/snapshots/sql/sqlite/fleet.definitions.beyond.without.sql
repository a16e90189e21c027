SELECT node_definitions.digest
FROM node_definitions
ORDER BY node_definitions.seen_at DESC, node_definitions.digest
LIMIT ? OFFSET ?
