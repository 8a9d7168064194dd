"""Drives a headless Chromium by the DevTools protocol, with the standard library alone: a judge of reports.

    browser.py CHROMIUM JOBS.json

A job is an object: `page` (path), `steps` (a list), and optionally `dark`. A step is a list:

    ["size", WIDTH, HEIGHT]          size of the window, also of a mobile device
    ["eval", JAVASCRIPT, EXPECTED]   the value of an expression is EXPECTED; promises are awaited
    ["min", JAVASCRIPT, NUMBER]      the value is at least this number
    ["max", JAVASCRIPT, NUMBER]      the value is at most this number
    ["click", SELECTOR]              a click with the mouse in the middle of an element
    ["type", SELECTOR, TEXT]         focus, then keys of the text
    ["key", KEY]                     a key, such as Enter or ArrowDown
    ["choose", SELECTOR, VALUE]      an option of a select element
    ["at", SELECTOR, X, Y]           a click at parts of the width and height of an element, such as 0.9 and 0.5
    ["hover", SELECTOR]              the mouse moves to the middle of an element
    ["drag", SELECTOR, X, Y, X, Y]   the mouse moves with its button from one part of an element to another
    ["shot", FILE, SELECTOR]         a screenshot of the window, scrolled to an element

`size` of a job is the size of the window when the page is opened, [1280, 900] by default.

Prints one line for each page, with the times that it measured. Exits with 1 and a message at the first step that fails, or if a page
writes to the console, throws, or requests anything but itself.
"""

import base64
import json
import os
import socket
import struct
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path


# Resolves when the page is drawn.
FRAMES = "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done())))"


class WebSocket:
    """The client's side of RFC 6455, as far as the protocol needs it."""

    def __init__(self, url):
        host, path = url.removeprefix("ws://").split("/", 1)
        name, port = host.rsplit(":", 1)
        self.socket = socket.create_connection((name, int(port)), timeout=120)
        key = base64.b64encode(os.urandom(16)).decode()
        request = f"GET /{path} HTTP/1.1\r\nHost: {host}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        self.socket.sendall(f"{request}Sec-WebSocket-Key: {key}\r\nSec-WebSocket-Version: 13\r\n\r\n".encode())
        self.buffer = b""
        while b"\r\n\r\n" not in self.buffer:
            self.buffer += self.socket.recv(4096)
        head, self.buffer = self.buffer.split(b"\r\n\r\n", 1)
        if b" 101 " not in head.split(b"\r\n", 1)[0]:
            raise RuntimeError(head.decode())

    def read(self, count):
        while len(self.buffer) < count:
            more = self.socket.recv(1 << 16)
            if not more:
                raise RuntimeError("the browser closed the connection")
            self.buffer += more
        part, self.buffer = self.buffer[:count], self.buffer[count:]
        return part

    def send(self, text):
        data = text.encode()
        size = len(data)
        head = b"\x81" + (bytes([0x80 | size]) if size < 126 else
                          b"\xfe" + struct.pack(">H", size) if size < 1 << 16 else b"\xff" + struct.pack(">Q", size))
        # A mask of zeros is a valid mask.
        self.socket.sendall(head + bytes(4) + data)

    def receive(self):
        message = b""
        while True:
            first, second = self.read(2)
            size = second & 0x7F
            if size > 125:
                size = struct.unpack(*((">H", self.read(2)) if size == 126 else (">Q", self.read(8))))[0]
            payload = self.read(size)
            if first & 0x0F in (0, 1):
                message += payload
                if first & 0x80:
                    return json.loads(message)


class Page:
    """A tab, and what it reported."""

    def __init__(self, port):
        request = urllib.request.Request(f"http://127.0.0.1:{port}/json/new?about:blank", method="PUT")
        target = json.load(urllib.request.urlopen(request, timeout=60))
        self.connection = WebSocket(target["webSocketDebuggerUrl"])
        self.number = 0
        self.problems = []
        self.url = ""
        self.events = set()
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def call(self, method, **parameters):
        self.number += 1
        self.connection.send(json.dumps({"id": self.number, "method": method, "params": parameters}))
        while True:
            message = self.connection.receive()
            if message.get("id") == self.number:
                if "error" in message:
                    raise RuntimeError(f"{method}: {message['error']}")
                return message["result"]
            self.event(message.get("method"), message.get("params", {}))

    def event(self, name, values):
        self.events.add(name)
        if name == "Runtime.consoleAPICalled":
            texts = [argument.get("value", argument.get("description")) for argument in values["args"]]
            self.problems.append(f"console.{values['type']}: {texts}")
        elif name == "Runtime.exceptionThrown":
            details = values["exceptionDetails"]
            self.problems.append(details.get("exception", {}).get("description", details["text"]))
        elif name == "Log.entryAdded":
            self.problems.append(values["entry"]["text"])
        elif name == "Network.requestWillBeSent" and values["request"]["url"].split("#")[0] != self.url:
            self.problems.append(f"request of {values['request']['url'][:200]}")

    def value(self, expression):
        result = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in result:
            raise RuntimeError(f"{expression}: {result['exceptionDetails'].get('exception', {}).get('description')}")
        return result["result"].get("value")

    def open(self, path):
        file, mark, part = str(path).partition("#")
        self.url = Path(file).resolve().as_uri()
        url = self.url + mark + part
        self.call("Page.navigate", url=url)
        self.wait(f"location.href === {json.dumps(url)} && document.documentElement?.dataset.drawn === 'all'")

    def wait(self, condition, seconds=120):
        end = time.monotonic() + seconds
        while not self.value(condition):
            if self.problems or time.monotonic() > end:
                raise RuntimeError(f"expected {condition}; {self.problems}")
            time.sleep(0.05)

    def middle(self, selector, across=0.5, down=0.5):
        place = self.value(
            f"(() => {{ const e = document.querySelector({json.dumps(selector)}); if (!e) return null;"
            "e.scrollIntoView({block: 'center'}); const b = e.getBoundingClientRect();"
            f"return [b.left + b.width * {across}, b.top + b.height * {down}]; }})()")
        if place is None:
            raise RuntimeError(f"no element {selector}")
        return place

    def click(self, selector, *part):
        x, y = self.middle(selector, *part)
        for kind in ("mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def drag(self, selector, x1, y1, x2, y2):
        start, end = self.middle(selector, x1, y1), self.middle(selector, x2, y2)
        self.mouse("mousePressed", start, 1)
        for part in (0.3, 0.6, 1):
            self.mouse("mouseMoved", [a + (b - a) * part for a, b in zip(start, end)], 1)
        self.mouse("mouseReleased", end, 0)

    def mouse(self, kind, place, buttons=0):
        button = "left" if buttons or kind == "mouseReleased" else "none"
        self.call("Input.dispatchMouseEvent", type=kind, x=place[0], y=place[1], button=button, buttons=buttons, clickCount=1)

    def resize(self, width, height):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 600)

    def key(self, key):
        codes = {"Enter": (13, "\r"), "ArrowDown": (40, None), "ArrowUp": (38, None), "Tab": (9, None), "+": (187, "+")}
        code, text = codes[key]
        extra = {"text": text} if text else {}
        self.call("Input.dispatchKeyEvent", type="keyDown", key=key, code=key, windowsVirtualKeyCode=code, **extra)
        self.call("Input.dispatchKeyEvent", type="keyUp", key=key, code=key, windowsVirtualKeyCode=code)

    def step(self, kind, *values):
        if kind == "size":
            self.resize(*values)
            self.value(FRAMES)
        elif kind in ("eval", "min", "max"):
            found = self.value(values[0])
            wanted = values[1]
            right = {"eval": lambda: found == wanted, "min": lambda: found >= wanted, "max": lambda: found <= wanted}[kind]
            if not right():
                raise RuntimeError(f"{values[0]} is {found!r}, expected {kind} {wanted!r}")
        elif kind == "click":
            self.click(values[0])
        elif kind == "at":
            self.click(*values)
        elif kind == "choose":
            self.value(f"(() => {{ const e = document.querySelector({json.dumps(values[0])}); e.value = {json.dumps(values[1])};"
                       "e.dispatchEvent(new Event('change')); })()")
        elif kind == "hover":
            self.mouse("mouseMoved", self.middle(values[0]))
        elif kind == "drag":
            self.drag(*values)
        elif kind == "type":
            self.click(values[0])
            for character in values[1]:
                self.call("Input.dispatchKeyEvent", type="char", text=character)
        elif kind == "key":
            self.key(values[0])
        elif kind == "shot":
            self.value(f"document.querySelector({json.dumps(values[1])}).scrollIntoView()")
            self.value(FRAMES)
            shot = self.call("Page.captureScreenshot", format="png")
            Path(values[0]).write_bytes(base64.b64decode(shot["data"]))
        else:
            raise RuntimeError(f"unknown step {kind}")
        if self.problems:
            raise RuntimeError("; ".join(self.problems))


def measured(page):
    return page.value("Object.fromEntries(performance.getEntriesByType('measure').map((m) => [m.name, Math.round(m.duration)]))")


def run(port, job):
    page = Page(port)
    scheme = "dark" if job.get("dark") else "light"
    page.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
    page.resize(*job.get("size", [1280, 900]))
    page.open(job["page"])
    times = measured(page)
    for step in [["eval", "0", 0], *job["steps"]]:
        try:
            page.step(*step)
        except RuntimeError as error:
            raise RuntimeError(f"{job['page']}: {step[0]} {step[1:2]}: {error}") from None
    paint = page.value("Math.round(performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? -1)")
    page.call("Page.close")
    size = os.path.getsize(job['page'].partition('#')[0])
    print(f"{Path(job['page']).name}: {size} bytes, first paint {paint} ms, {times}")


def main():
    chromium, jobs = sys.argv[1], json.loads(Path(sys.argv[2]).read_text())
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        options = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars",
                   "--remote-debugging-port=0", "--remote-allow-origins=*", f"--user-data-dir={folder}", "about:blank"]
        browser = subprocess.Popen([chromium, *options], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            ready = Path(folder, "DevToolsActivePort")
            end = time.monotonic() + 120
            while not (ready.exists() and ready.read_text().count("\n")):
                if browser.poll() is not None or time.monotonic() > end:
                    sys.exit("the browser does not start")
                time.sleep(0.1)
            port = int(ready.read_text().split("\n")[0])
            for job in jobs:
                run(port, job)
        except RuntimeError as error:
            sys.exit(str(error))
        finally:
            browser.terminate()
            browser.wait(60)


if __name__ == "__main__":
    main()
