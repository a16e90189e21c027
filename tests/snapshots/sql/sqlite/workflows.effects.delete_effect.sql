DELETE
FROM effects
WHERE effects.id = ?
AND effects.is_published IS 0
