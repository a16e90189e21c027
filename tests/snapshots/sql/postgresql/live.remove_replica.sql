DELETE
FROM replicas
WHERE replicas.id = %(id_1)s::UUID
