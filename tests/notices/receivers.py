"""Receivers on this machine, with real sockets: an HTTP server that answers as it is told, and as much SMTP as a mail needs."""

import socketserver
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class Posts(ThreadingHTTPServer):
    """Keeps what was posted; answers with `status`."""

    daemon_threads = True

    def __init__(self, status: int = 204, location: str = "") -> None:
        self.status, self.location, self.got = status, location, []
        super().__init__(("127.0.0.1", 0), _Post)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/hook?from=helicase"


class _Post(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        server: Any = self.server
        body = self.rfile.read(int(self.headers["Content-Length"]))
        server.got.append((self.path, dict(self.headers), body))
        self.send_response(server.status)
        if server.location:
            self.send_header("Location", server.location)
        self.end_headers()

    def log_message(self, *args: Any) -> None: ...


class Mails(socketserver.ThreadingTCPServer):
    """Takes mails, or refuses every recipient."""

    daemon_threads = True
    allow_reuse_address = True

    def __init__(self, *, refuse: bool = False) -> None:
        self.refuse, self.got = refuse, []
        super().__init__(("127.0.0.1", 0), _Mail)


class _Mail(socketserver.StreamRequestHandler):
    def handle(self) -> None:
        server: Any = self.server
        self.say("220 here")
        while line := self.rfile.readline().decode().strip():
            match line[:4].upper():
                case "EHLO" | "MAIL":
                    self.say("250 fine")
                case "RCPT":
                    self.say("550 nobody of this name" if server.refuse else "250 fine")
                case "DATA":
                    self.say("354 go on")
                    server.got.append(b"".join(iter(self.rfile.readline, b".\r\n")).decode())
                    self.say("250 taken")
                case "QUIT":
                    self.say("221 bye")
                    return
                case _:
                    self.say("250 fine")

    def say(self, words: str) -> None:
        self.wfile.write(f"{words}\r\n".encode())


@contextmanager
def serving(server: Any) -> Iterator[Any]:
    """Serve until the block ends."""
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
