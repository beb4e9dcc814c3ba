"""A real browser and a small server for the built site: for the browser tests and the pictures."""

import gzip
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache, partial
from http import HTTPStatus
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

from playwright.sync_api import Browser, sync_playwright

from toc import ROOT

SITE = ROOT / "_build" / "html"
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
APPS = (  # where macOS keeps them: not on the PATH
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
)
# No sandbox: containers and root have none. The rest keeps the browser itself off the network.
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    # No page reaches any host but this machine, whatever it asks for.
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
]


def chromium_path() -> str:
    """The installed Chromium; CHROMIUM, where it is set, says which one."""
    wanted = os.environ.get("CHROMIUM")
    names = [wanted] if wanted else [*NAMES, *APPS]
    found = next(filter(None, map(shutil.which, names)), None)
    if found is None:
        raise FileNotFoundError(
            f"No Chromium found (looked for {', '.join(names)}). On Debian or Ubuntu: "
            "apt-get install chromium. Elsewhere install Chrome or Chromium, "
            "or set CHROMIUM to the path of its program."
        )
    return found


@contextmanager
def open_browser() -> Iterator[Browser]:
    path = chromium_path()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=FLAGS)
        yield browser
        browser.close()


class _Handler(SimpleHTTPRequestHandler):
    """Sends text compressed, as the hosts of static sites do; what is compressed as it is."""

    def do_GET(self) -> None:
        path = Path(self.translate_path(self.path))
        text = path.suffix in (".html", ".css", ".js", ".json", ".svg") and path.is_file()
        if not text or "gzip" not in self.headers.get("Accept-Encoding", ""):
            super().do_GET()
            return
        body = _compressed(path, path.stat().st_mtime_ns)
        self.send_response(HTTPStatus.OK)
        self.send_header("Content-Type", self.guess_type(str(path)))
        self.send_header("Content-Encoding", "gzip")
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Last-Modified", self.date_time_string(path.stat().st_mtime))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args) -> None:
        pass


@cache
def _compressed(path: Path, changed: int) -> bytes:
    return gzip.compress(path.read_bytes())


@contextmanager
def serve(folder: Path) -> Iterator[str]:
    """Serve a folder on a free port of this machine alone; gives the address, without a slash."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Handler, directory=str(folder)))
    Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
