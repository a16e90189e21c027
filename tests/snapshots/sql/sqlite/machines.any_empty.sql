SELECT EXISTS (SELECT *
FROM fleet_scaling
WHERE fleet_scaling.is_empty = 1) AS is_any
