from comfyfleet.db.migrate import run_environment

run_environment()
