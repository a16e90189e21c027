DELETE
FROM node_definitions
WHERE node_definitions.digest = ?
