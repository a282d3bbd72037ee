"""The server of the laboratory: for this machine, and on it for those who know its address.

    http://127.0.0.1:PORT/TOKEN/...

Who asks must say a host that is ours (so no other name leads here), know the token (so no other
user of the machine and no other page gets in), and come from no other page. Only names of a list
are looked up and nothing that is sent is run.
"""

import hmac
import json
import secrets
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from html import escape
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from urllib.parse import parse_qs, urlsplit

from accion.errors import Untranslatable
from accion.lab.room import Room
from accion.pages.page import part

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:;"
    " base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "Cache-Control": "no-store",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}
PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1"><title>accion lab</title>
<link rel="stylesheet" href="app.css"><link rel="icon" href="data:,"></head>
<body><header><h1 id="title">accion lab</h1><p id="text"></p></header>
<nav id="choice" class="bar"></nav><p id="wait" class="note" role="status" hidden></p>
<main id="lab" class="lab"></main>
<section><h2>Equations</h2><div id="equations"></div></section>
<script src="app.js"></script><script src="lab.js"></script></body></html>
"""
FILES = {"app.js": "text/javascript", "lab.js": "text/javascript", "app.css": "text/css"}
PATIENCE = 30  # seconds that who has connected may take to ask


class Lab:
    """A laboratory that is open: `address` is where, with its token; `close()` ends it.

    Arguments:
        files: systems of one's own, programs that are run.
        port: of this machine; 0 takes one that is free.
    """

    def __init__(self, files: Sequence[str] = (), port: int = 0) -> None:
        self.room = Room(files)
        self.token = secrets.token_urlsafe(24)
        lab = self

        class Handler(Answers):
            """Answers of this laboratory."""

            own = lab

        self.server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
        self.server.daemon_threads = True
        self.port = self.server.server_address[1]
        self.hosts = (f"127.0.0.1:{self.port}", f"localhost:{self.port}")
        self.address = f"http://127.0.0.1:{self.port}/{self.token}/"

    def begin(self) -> None:
        """Answer, in a thread of its own."""
        Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self) -> None:
        """Answer no more."""
        self.server.shutdown()
        self.server.server_close()


class Refused(Exception):
    """A request that is not answered, and what it is told."""

    def __init__(self, status: int, words: str) -> None:
        self.status, self.words = status, words


class Answers(BaseHTTPRequestHandler):
    """What a request is answered."""

    own: Lab
    server_version, sys_version = "accion", ""
    timeout = PATIENCE

    def do_GET(self) -> None:
        try:
            kind, body, more = self.answer()
            self.reply(200, kind, body, more)
        except Refused as refused:
            self.reply(refused.status, "text/plain", refused.words, {})
        except (ValueError, OSError, Untranslatable) as error:
            self.reply(400, "text/plain", str(error), {})

    def answer(self) -> tuple[str, str, dict[str, str]]:
        """(kind, text, more headers) for who may ask."""
        self.check()
        parts = urlsplit(self.path)
        what = parts.path.split("/", 2)[2]
        given = {key: values[0] for key, values in parse_qs(parts.query).items()}
        name, method = given.get("name", ""), given.get("method", "")
        room = self.own.room
        if what == "":
            return "text/html", PAGE, {}
        if what in FILES:
            return FILES[what], part(what), {}
        if what == "systems":
            return "application/json", json.dumps(room.systems), {}
        if what == "about":
            return "application/json", json.dumps(room.about(name)), {}
        if what == "model.js":
            return "text/javascript", room.module(name, method), {}
        if what == "page":
            text = room.page(name, method, given.get("compare", ""))
            return "text/html", text, {"Content-Disposition": 'attachment; filename="page.html"'}
        raise Refused(404, "there is nothing here")

    def check(self) -> None:
        """Raise Refused where who asks may not."""
        if self.headers.get_all("Host", []) not in ([host] for host in self.own.hosts):
            raise Refused(403, "this is no name of the laboratory")
        # Compared in constant time, so that how long it takes says nothing.
        token = self.path.split("/", 2)[1] if self.path.startswith("/") else ""
        if not hmac.compare_digest(token.encode(), self.own.token.encode()):
            raise Refused(403, "the address lacks its token: open what `accion lab` printed")
        if self.path.count("/") < 2:
            raise Refused(404, "there is nothing here")
        origin, site = self.headers.get("Origin"), self.headers.get("Sec-Fetch-Site")
        if origin is not None and origin not in (f"http://{host}" for host in self.own.hosts):
            raise Refused(403, "another page may not ask")
        if site is not None and site not in ("same-origin", "none"):
            raise Refused(403, "another page may not ask")

    def reply(self, status: int, kind: str, text: str, more: dict[str, str]) -> None:
        """Send a text, with the headers that all have."""
        body = text.encode()
        self.send_response(status)
        self.send_header("Content-Type", f"{kind}; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        for key, value in (HEADERS | more).items():
            self.send_header(key, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Nothing: the address has the token in it."""


@contextmanager
def doorway(address: str) -> Iterator[Path]:
    """A file that leads to the address and that nobody else can read: the command line of a
    browser, in which the token would stand, all users can.
    """
    with tempfile.TemporaryDirectory(prefix="accion-lab-") as folder:
        path = Path(folder) / "lab.html"
        path.touch(mode=0o600)
        url = escape(address)
        path.write_text(
            f'<!doctype html><meta charset="utf-8"><meta name="referrer" content="no-referrer">'
            f'<meta http-equiv="refresh" content="0; url={url}"><a href="{url}">accion lab</a>'
        )
        yield path


def serve(files: Sequence[str] = (), port: int = 0) -> Lab:
    """Open a laboratory, which answers until it is closed."""
    lab = Lab(files, port)
    lab.begin()
    return lab
