"""The demo of `comfyfleet up`: a tenant, five effects that need no GPU, samples to try them on, and a player."""
