"""As little of a ComfyUI as an owned server needs: it answers /system_stats. A program of its own."""

import os
import sys
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

FACTS = b'{"system": {"comfyui_version": "0.33.0"}, "devices": []}'


class Answering(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(FACTS)))
        self.end_headers()
        self.wfile.write(FACTS)

    def do_POST(self) -> None:
        os._exit(7)  # a crash, on request

    def log_message(self, format: str, *args: object) -> None:
        pass


def main() -> None:
    port, starts = int(sys.argv[1]), Path(sys.argv[2])
    with starts.open("a") as file:
        file.write(f"{os.getpid()} {sorted(name for name in os.environ if 'SECRET' in name)}\n")
    sys.stdout.write("\x1b[32mloading\x1b[0m\n 10%\r 50%\r100%\nfleet token=abcdef\n")
    sys.stdout.flush()
    if "--broken" in sys.argv:
        sys.exit(3)
    HTTPServer(("127.0.0.1", port), Answering).serve_forever()


main()
