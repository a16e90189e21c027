from comfyfleet.cli.main import run

run()
