"""Speaking ComfyUI: a client, a watcher, graph tools and connectors. Needs no server of ours, only `kernel`."""
