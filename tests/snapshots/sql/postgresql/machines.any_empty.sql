SELECT EXISTS (SELECT *
FROM fleet_scaling
WHERE fleet_scaling.is_empty) AS is_any
