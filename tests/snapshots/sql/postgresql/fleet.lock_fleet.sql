SELECT comfyui_fleets.id
FROM comfyui_fleets
WHERE comfyui_fleets.id = %(id_1)s::UUID FOR UPDATE
