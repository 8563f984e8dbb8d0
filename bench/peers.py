# SPDX-License-Identifier: Apache-2.0
"""Whom weir is compared with: one line a server and setting."""
import dataclasses
import subprocess

import servers


@dataclasses.dataclass(frozen=True)
class Peer:
    name: str
    title: str
    server: type
    protocol: str                 # of the driver: <protocol>_load
    options: tuple = ()           # of the driver
    settings: tuple = ()          # of the server
    durable: bool = False         # every answered write is on disk
    batch_only: bool = False      # leaves out the shapes with one request in flight
    slow: float = 1               # fewer jobs a run, so that a run takes about as long as another's


REDIS_ALWAYS = ("--appendonly", "yes", "--appendfsync", "always", "--save", "")
REDIS_MEMORY = ("--appendonly", "no", "--save", "")

WEIR = Peer("weir", "weir, sync", servers.Weir, "beanstalk", durable=True)

PEERS = (
    Peer("redis-streams-always", "Redis Streams, appendfsync always", servers.Redis, "redis", ("--mode", "stream"), REDIS_ALWAYS,
         durable=True, slow=4),
    Peer("redis-streams", "Redis Streams, no persistence", servers.Redis, "redis", ("--mode", "stream"), REDIS_MEMORY, slow=2),
    Peer("redis-lists-always", "Redis lists, appendfsync always", servers.Redis, "redis", ("--mode", "list"), REDIS_ALWAYS,
         durable=True, slow=8),
    Peer("redis-lists", "Redis lists, no persistence", servers.Redis, "redis", ("--mode", "list"), REDIS_MEMORY, slow=2),
    Peer("beanstalkd-f0", "beanstalkd -b -f0", servers.Beanstalkd, "beanstalk", settings=("-b", ".", "-f0"), durable=True,
         slow=100),
    Peer("beanstalkd", "beanstalkd, memory", servers.Beanstalkd, "beanstalk", slow=10),
    Peer("rabbitmq-classic", "RabbitMQ classic, persistent, confirms", servers.RabbitMq, "amqp", ("--mode", "classic"),
         durable=True, slow=15),
    Peer("rabbitmq-quorum", "RabbitMQ quorum, confirms", servers.RabbitMq, "amqp", ("--mode", "quorum"), durable=True, slow=15),
    Peer("nats", "NATS JetStream, file", servers.Nats, "nats", ("--mode", "file"), slow=10),
    Peer("postgres", "PostgreSQL SKIP LOCKED, one by one", servers.Postgres, "postgres", ("--batch", 1), durable=True, slow=100),
    Peer("postgres-batch", "PostgreSQL SKIP LOCKED, 50 a statement", servers.Postgres, "postgres", ("--batch", 50), durable=True,
         batch_only=True, slow=15),
)

PACKAGES = {"beanstalk": "beanstalkd", "redis": "redis-server", "amqp": "rabbitmq-server", "nats": "nats-server",
            "postgres": "postgresql"}


def chosen(names):
    """The peers whose name holds one of `names`; all without names."""
    found = [peer for peer in PEERS if not names or any(name in peer.name for name in names)]
    if not found:
        raise SystemExit(f"no peer is named {', '.join(names)}; there are {', '.join(p.name for p in PEERS)}")
    return found


def version(peer):
    package = PACKAGES[peer.protocol]
    shown = subprocess.run(["dpkg-query", "-W", "-f", "${Version}", package], capture_output=True, text=True)
    return shown.stdout.strip() or "not installed"
