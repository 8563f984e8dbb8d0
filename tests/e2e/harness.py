# SPDX-License-Identifier: Apache-2.0
"""Starts the real binary on a free loopback port and talks to it; shared by the end-to-end tests and the kill loop."""
import http.client
import json
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import threading
import time
import unittest

BINARY = os.environ.get("WEIR_BINARY") or str(pathlib.Path(__file__).resolve().parents[2] / "build" / "weir")
START_SECONDS_MAX = 60
CALL_SECONDS_MAX = 90


class Answer:
    def __init__(self, status, headers, body):
        self.status, self.headers, self.body = status, headers, body

    @property
    def json(self):
        return json.loads(self.body)

    @property
    def code(self):
        return self.json.get("code")


class Client:
    """One keep-alive connection; opens it again when it broke. One thread."""

    def __init__(self, address, token=None):
        self.address, self.token, self.connection = address, token, None

    def call(self, method, path, body=None, headers=None, timeout=CALL_SECONDS_MAX):
        """Raises OSError or http.client.HTTPException when there was no answer: the effect is then unknown."""
        if self.connection is None:
            host, port = self.address.rsplit(":", 1)
            self.connection = http.client.HTTPConnection(host, int(port), timeout=timeout)
        sent = dict(headers or {})
        if self.token:
            sent["Authorization"] = "Bearer " + self.token
        if body is not None and not isinstance(body, bytes):
            body = json.dumps(body).encode()
            sent.setdefault("Content-Type", "application/json")
        try:
            self.connection.request(method, path, body=body, headers=sent)
            got = self.connection.getresponse()
            return Answer(got.status, got.headers, got.read())
        except (OSError, http.client.HTTPException):
            self.close()
            raise

    def get(self, path, **more):
        return self.call("GET", path, **more)

    def post(self, path, body=None, **more):
        return self.call("POST", path, {} if body is None else body, **more)

    def close(self):
        if self.connection is not None:
            self.connection.close()
            self.connection = None


class Server:
    """A `weir serve` process. The data directory outlives it; its log is kept for failures."""

    def __init__(self, data, *arguments, environment=None, listen="127.0.0.1:0", preexec=None):
        self.data, self.arguments, self.environment, self.listen = str(data), arguments, environment or {}, listen
        self.preexec = preexec
        self.process, self.address, self.probe_address, self.lines = None, None, None, []

    def start(self):
        self.address = self.probe_address = None
        self.ready = threading.Event()
        command = [BINARY, "serve", "--data", self.data, "--listen", self.listen, "--probe-listen", "127.0.0.1:0",
                   "--log-format", "json", *self.arguments]
        self.process = subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL,
                                        stdin=subprocess.DEVNULL, env={**os.environ, **self.environment},
                                        preexec_fn=self.preexec)
        self.reader = threading.Thread(target=self._read, args=(self.process,), daemon=True)
        self.reader.start()
        if not self.ready.wait(START_SECONDS_MAX) or self.address is None:
            self.kill()
            raise AssertionError("the server did not start:\n" + self.log())
        return self

    def _read(self, process):
        for raw in process.stderr:
            line = raw.decode(errors="replace").rstrip()
            self.lines.append(line)
            try:
                fact = json.loads(line)
            except ValueError:
                continue
            if fact.get("message") == "listening":
                self.address, self.probe_address = fact["address"], fact.get("probe_address")
                self.ready.set()
        self.ready.set()

    def log(self):
        return "\n".join(self.lines[-80:])

    def client(self, token=None):
        return Client(self.address, token)

    @property
    def url(self):
        return "http://" + self.address

    def signal(self, number):
        self.process.send_signal(number)

    def kill(self):
        """SIGKILL, and waits for the end."""
        if self.process is not None and self.process.poll() is None:
            self.process.kill()
        return self.wait()

    def stop(self):
        """SIGTERM, and waits for the end. Returns the exit code."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        return self.wait()

    def wait(self):
        code = self.process.wait(timeout=CALL_SECONDS_MAX)
        self.reader.join(timeout=CALL_SECONDS_MAX)
        self.process.stderr.close()
        return code


def weir(*arguments, url=None, stdin=None, environment=None, timeout=CALL_SECONDS_MAX):
    """Runs the CLI. Returns the finished process, with texts."""
    env = {**os.environ, **(environment or {})}
    if url:
        env["WEIR_URL"] = url
    return subprocess.run([BINARY, *map(str, arguments)], env=env, input=stdin, capture_output=True, text=True,
                          timeout=timeout)


def wait_until(condition, what, seconds=60):
    """Polls something outside our processes (a file, another program's state)."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        found = condition()
        if found:
            return found
        time.sleep(0.02)
    raise AssertionError("waited in vain for " + what)


class Case(unittest.TestCase):
    """A test with a folder of its own; what it started ends with it."""

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="weir-test-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)

    def server(self, *arguments, start=True, data="data", **more):
        server = Server(self.folder / data, *arguments, **more)
        if start:
            server.start()
            self.addCleanup(lambda: server.kill() if server.process.poll() is None else None)
        return server

    def background(self, *arguments, url, environment=None):
        """Starts a CLI command that goes on; it is killed at the end of the test."""
        process = subprocess.Popen([BINARY, *map(str, arguments)], env={**os.environ, "WEIR_URL": url, **(environment or {})},
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True)

        def end():
            if process.poll() is None:
                process.kill()
            process.communicate()
        self.addCleanup(end)
        return process

    def script(self, name, text):
        path = self.folder / name
        path.write_text("#!/bin/sh\n" + text)
        path.chmod(0o755)
        return path
