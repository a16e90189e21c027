DELETE
FROM waiting_reasons
