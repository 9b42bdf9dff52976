"""A headless Chromium that is driven through a pipe, without any library."""

import itertools
import json
import os
import select
import shutil
import subprocess
import time

_NAMES = ("chromium", "chromium-browser", "google-chrome")
CHROMIUM = next(filter(None, map(shutil.which, _NAMES)), None)
#: Seconds to wait for what should take a fraction of one.
_PATIENCE = 30
_KEYS = {"ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40}
_KEYS |= {"Backspace": 8, "Enter": 13, "Tab": 9, " ": 32}


class Browser:
    """A browser with a profile of its own."""

    def __init__(self, folder):
        command = [
            *(CHROMIUM, "--headless=new", "--no-sandbox", "--disable-gpu"),
            *("--disable-dev-shm-usage", "--no-first-run", "--disable-extensions"),
            *(f"--user-data-dir={folder / 'profile'}", "--remote-debugging-pipe"),
        ]
        # Chromium reads its orders from file 3 and writes to file 4.
        shell = 'exec "$@" 3<&0 4>&1 </dev/null >/dev/null 2>&1'
        self.process = subprocess.Popen(
            ["sh", "-c", shell, "sh", *command],
            env=os.environ | {"HOME": str(folder)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        self.buffer = b""
        self.numbers = itertools.count(1)
        self.events = []
        self.folder = folder
        allow = {"behavior": "allowAndName", "downloadPath": str(folder)}
        self.order("Browser.setDownloadBehavior", **allow, eventsEnabled=True)

    def order(self, method, session=None, **parameters):
        """Give an order and return what comes back."""
        message = {"id": next(self.numbers), "method": method, "params": parameters}
        if session:
            message["sessionId"] = session
        self.process.stdin.write(json.dumps(message).encode() + b"\0")
        self.process.stdin.flush()
        while (reply := self._read()).get("id") != message["id"]:
            self.events.append(reply)
        assert "error" not in reply, reply
        return reply["result"]

    def wait_for(self, method, **expected):
        """Return the parameters of the first event with these."""
        while True:
            for number, event in enumerate(self.events):
                params = event["params"] if event["method"] == method else {}
                if params and expected.items() <= params.items():
                    del self.events[number]
                    return params
            self.events.append(self._read())

    def downloaded(self):
        """Return the next file that a page saves, under the name that it gives it."""
        begun = self.wait_for("Browser.downloadWillBegin")
        name = begun["guid"]
        self.wait_for("Browser.downloadProgress", guid=name, state="completed")
        return (self.folder / name).rename(self.folder / begun["suggestedFilename"])

    def _read(self):
        while b"\0" not in self.buffer:
            ready, *_ = select.select([self.process.stdout], [], [], _PATIENCE)
            assert ready, "the browser says nothing"
            chunk = os.read(self.process.stdout.fileno(), 1 << 16)
            assert chunk, "the browser has ended"
            self.buffer += chunk
        message, _, self.buffer = self.buffer.partition(b"\0")
        return json.loads(message)

    def close(self):
        try:
            self.order("Browser.close")
            self.process.wait(20)
        finally:
            self.process.kill()
            self.process.wait()
            self.process.stdin.close()
            self.process.stdout.close()


class Tab:
    """One page in a browser, opened after a script has run in it."""

    def __init__(self, browser, path, before=""):
        self.browser = browser
        target = browser.order("Target.createTarget", url="about:blank")
        attached = browser.order("Target.attachToTarget", **target, flatten=True)
        self.session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log"):
            self.order(f"{domain}.enable")
        self.order("Page.addScriptToEvaluateOnNewDocument", source=before)
        self.order("Page.setLifecycleEventsEnabled", enabled=True)
        self.open(path)

    def order(self, method, **parameters):
        return self.browser.order(method, self.session, **parameters)

    def open(self, path):
        loader = self.order("Page.navigate", url=path.as_uri())["loaderId"]
        self.browser.wait_for("Page.lifecycleEvent", loaderId=loader, name="load")

    def value(self, expression):
        """Return what an expression has for a value."""
        reply = self.order(
            "Runtime.evaluate", expression=expression, returnByValue=True
        )
        assert "exceptionDetails" not in reply, reply
        return reply["result"].get("value")

    def complaints(self):
        """Return what the browser found wrong with the page."""
        self.value("0")  # reads what came meanwhile
        names = ("Log.entryAdded", "Runtime.exceptionThrown")
        return [
            str(event["params"])
            for event in self.browser.events
            if event["method"] in names and event["sessionId"] == self.session
        ]

    def seen(self):
        """Return the text that a person sees."""
        return self.value("document.body.innerText")

    def wait_until(self, holds):
        end = time.monotonic() + _PATIENCE
        while not holds():
            assert time.monotonic() < end, self.seen()
            time.sleep(0.02)

    def press(self, *keys):
        for key in keys:
            code = _KEYS.get(key, ord(key[0].upper()))
            typed = {" ": " ", "Enter": "\r"}.get(key, key if len(key) == 1 else "")
            event = {"key": key, "windowsVirtualKeyCode": code}
            self.order("Input.dispatchKeyEvent", type="keyDown", text=typed, **event)
            self.order("Input.dispatchKeyEvent", type="keyUp", **event)

    def click(self, selector):
        """Click in the middle of what is there to be seen."""
        box = self.value(
            f"(e => {{ e.scrollIntoView({{block: 'nearest'}}); "
            "const b = e.getBoundingClientRect(); "
            "return [b.x + b.width / 2, b.y + b.height / 2]; })"
            f"(document.querySelector({json.dumps(selector)}))"
        )
        place = {"x": box[0], "y": box[1], "button": "left", "clickCount": 1}
        for kind in ("mousePressed", "mouseReleased"):
            self.order("Input.dispatchMouseEvent", type=kind, **place)
