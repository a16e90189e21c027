DELETE
FROM node_definitions
WHERE node_definitions.digest = %(digest_1)s::VARCHAR
