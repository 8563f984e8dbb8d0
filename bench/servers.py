# SPDX-License-Identifier: Apache-2.0
"""Starts and ends weir and the queues it is compared with: each on a free loopback port, with its data in a directory of its
own, as a child of this process."""
import json
import os
import pathlib
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time

import procs

START_SECONDS_MAX = 60


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Server:
    """One running server. `pid` is the process whose family is measured."""

    def __init__(self, peer, build):
        self.peer, self.build = peer, pathlib.Path(build)
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix=f"weir-bench-{peer.name}-"))
        self.log = open(self.folder / "log", "w+b")
        self.port = free_port()
        self.helpers = []
        self.settings = peer.settings
        self.start()

    @property
    def pid(self):
        return self.process.pid

    def start(self):
        raise NotImplementedError

    def spawn(self, command, **more):
        return subprocess.Popen([str(word) for word in command], stdin=subprocess.DEVNULL, stdout=self.log,
                                stderr=subprocess.STDOUT, cwd=more.pop("cwd", self.folder), **more)

    def is_listening(self):
        try:
            socket.create_connection(("127.0.0.1", self.port), 1).close()
            return True
        except OSError:
            return False

    def wait_until_ready(self):
        end = time.monotonic() + START_SECONDS_MAX
        while time.monotonic() < end and self.process.poll() is None:
            if self.is_listening():
                return
            time.sleep(0.005)
        self.fail("does not listen")

    def fail(self, why):
        tail = pathlib.Path(self.log.name).read_text(errors="replace")[-2000:]
        raise SystemExit(f"{self.peer.name} {why}:\n{tail}")

    def stop_process(self):
        procs.end(self.process)

    def restart(self):
        """Stops and starts on the same data; returns the seconds from start to listening."""
        self.stop_process()
        begin = time.monotonic()
        self.start()
        return time.monotonic() - begin

    def driver(self):
        """The driver program and the options that belong to the server."""
        return [self.build / f"bench/{self.peer.protocol}_load", "--port", self.port]

    def stop(self):
        self.stop_process()
        for helper in self.helpers:
            procs.end(helper)
        self.log.close()
        shutil.rmtree(self.folder, ignore_errors=True)


class Weir(Server):
    """Jobs come through the beanstalkd door, and through HTTP at `http_address`."""

    def start(self):
        config = self.folder / "weir.toml"
        config.write_text(f'[server]\nlisten = "127.0.0.1:0"\nprobe_listen = "127.0.0.1:0"\n'
                          f'[doors]\nbeanstalk = "127.0.0.1:{self.port}"\n')
        self.process = subprocess.Popen([self.build / "weir", "serve", "--config", config, "--data", self.folder / "data",
                                         "--log-format", "json"], stdin=subprocess.DEVNULL, stdout=self.log,
                                        stderr=self.log, cwd=self.folder)
        self.wait_until_ready()

    def http_address(self):
        """Where the log says that the HTTP door listens; the last start counts."""
        found = None
        for line in pathlib.Path(self.log.name).read_text().splitlines():
            fact = json.loads(line) if line.startswith("{") else {}
            if fact.get("message") == "listening" and fact.get("door", "http") == "http":
                found = fact["address"]
        return found or self.fail("does not say where it listens")


class Beanstalkd(Server):
    def start(self):
        self.process = self.spawn(["beanstalkd", "-l", "127.0.0.1", "-p", self.port, *self.settings])
        self.wait_until_ready()


class Redis(Server):
    def start(self):
        self.process = self.spawn(["redis-server", "--port", self.port, "--bind", "127.0.0.1", "--dir", self.folder,
                                   *self.settings])
        self.wait_until_ready()


class Nats(Server):
    def start(self):
        self.process = self.spawn(["nats-server", "-a", "127.0.0.1", "-p", self.port, "-js", "-sd", self.folder / "store"])
        self.wait_until_ready()


class RabbitMq(Server):
    """A node of its own: Erlang's name server (epmd) on its own port, no plugins, nothing outside the folder."""

    def start(self):
        epmd, distribution = free_port(), free_port()
        self.environment = dict(
            os.environ, HOME=str(self.folder), ERL_EPMD_ADDRESS="127.0.0.1", ERL_EPMD_PORT=str(epmd),
            RABBITMQ_NODENAME="weir-bench@localhost", RABBITMQ_NODE_IP_ADDRESS="127.0.0.1",
            RABBITMQ_NODE_PORT=str(self.port), RABBITMQ_DIST_PORT=str(distribution),
            RABBITMQ_MNESIA_BASE=str(self.folder / "mnesia"), RABBITMQ_LOG_BASE=str(self.folder), RABBITMQ_LOGS="-",
            RABBITMQ_ENABLED_PLUGINS_FILE=str(self.folder / "plugins"), RABBITMQ_CONFIG_FILE=str(self.folder / "rabbitmq"),
            RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS="-kernel inet_dist_use_interface {127,0,0,1}")
        (self.folder / "plugins").write_text("[].\n")
        self.helpers = [self.spawn(["epmd", "-address", "127.0.0.1", "-port", epmd])]
        self.process = self.spawn(["/usr/lib/rabbitmq/bin/rabbitmq-server"], env=self.environment)
        self.wait_until_ready()

    def stop_process(self):
        # The script hands SIGTERM on to the Erlang machine; both end.
        family = procs.family(self.pid, procs.parents())
        procs.end(self.process)
        for pid in family[1:]:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        for helper in self.helpers:
            procs.end(helper)
        self.helpers = []


class Postgres(Server):
    """postgres refuses to run as root, so root runs it as the user of the Debian package."""

    def start(self):
        programs = sorted(pathlib.Path("/usr/lib/postgresql").glob("*/bin"))[-1]
        data = self.folder / "data"
        owner = {}
        if os.getuid() == 0:
            user = pwd.getpwnam("postgres")
            owner = {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}
            os.chown(self.folder, user.pw_uid, user.pw_gid)
        if not data.exists():
            made = self.spawn([programs / "initdb", "-D", data, "-A", "trust", "-U", "bench", "--no-sync"], **owner)
            if made.wait() != 0:
                self.fail("initdb failed")
        self.process = self.spawn([programs / "postgres", "-D", data, "-c", "listen_addresses=127.0.0.1", "-p", self.port, "-k",
                                   self.folder, "-c", "max_connections=100", *self.settings], **owner)
        self.programs = programs
        self.wait_until_ready()

    def is_listening(self):
        # It takes connections before it answers them.
        asked = [self.programs / "pg_isready", "-q", "-h", "127.0.0.1", "-p", str(self.port)]
        return subprocess.run(asked, stdin=subprocess.DEVNULL).returncode == 0

    def stop_process(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)  # fast: does not wait for clients
        procs.end(self.process)
