DELETE
FROM effects
WHERE effects.id = %(id_1)s::UUID
AND effects.is_published IS false
