DELETE
FROM replicas
WHERE replicas.id = ?
