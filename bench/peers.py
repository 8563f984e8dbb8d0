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
    fill_options: tuple = ()      # of the driver while it fills a queue, instead of `options`
    fill_settings: tuple = ()     # of the server while a queue is filled, if its own would take hours
    waiting_max: int = 10_000_000  # more would not fit into this comparison's memory and time
    quick_shapes: tuple = ("many-deep",)


REDIS_ALWAYS = ("--appendonly", "yes", "--appendfsync", "always", "--save", "")
REDIS_MEMORY = ("--appendonly", "no", "--save", "")

WEIR = Peer("weir", "weir, sync", servers.Weir, "beanstalk", durable=True, quick_shapes=("one", "deep", "many", "many-deep"))

PEERS = (
    Peer("redis-streams-always", "Redis Streams, appendfsync always", servers.Redis, "redis", ("--mode", "stream"), REDIS_ALWAYS,
         durable=True, quick_shapes=("deep", "many", "many-deep")),
    Peer("redis-streams", "Redis Streams, no persistence", servers.Redis, "redis", ("--mode", "stream"), REDIS_MEMORY),
    Peer("redis-lists-always", "Redis lists, appendfsync always", servers.Redis, "redis", ("--mode", "list"), REDIS_ALWAYS,
         durable=True, quick_shapes=()),
    Peer("redis-lists", "Redis lists, no persistence", servers.Redis, "redis", ("--mode", "list"), REDIS_MEMORY,
         quick_shapes=()),
    Peer("beanstalkd-f0", "beanstalkd -b -f0", servers.Beanstalkd, "beanstalk", settings=("-b", ".", "-f0"), durable=True,
         fill_settings=("-b", ".", "-f1000"), waiting_max=1_000_000),
    Peer("beanstalkd", "beanstalkd, memory", servers.Beanstalkd, "beanstalk"),
    Peer("rabbitmq-classic", "RabbitMQ classic, persistent", servers.RabbitMq, "amqp", ("--mode", "classic"), durable=True,
         waiting_max=1_000_000, quick_shapes=()),
    Peer("rabbitmq-quorum", "RabbitMQ quorum", servers.RabbitMq, "amqp", ("--mode", "quorum"), durable=True,
         waiting_max=1_000_000),
    Peer("nats", "NATS JetStream, file", servers.Nats, "nats", ("--mode", "file")),
    Peer("postgres", "PostgreSQL SKIP LOCKED, one by one", servers.Postgres, "postgres", ("--batch", 1), durable=True,
         fill_options=("--batch", 50), quick_shapes=()),
    Peer("postgres-batch", "PostgreSQL SKIP LOCKED, 50 a statement", servers.Postgres, "postgres", ("--batch", 50), durable=True,
         batch_only=True, quick_shapes=()),
)

PACKAGES = {"beanstalk": "beanstalkd", "redis": "redis-server", "amqp": "rabbitmq-server", "nats": "nats-server",
            "postgres": "postgresql"}


def chosen(names):
    """The peers by name, or a family by its first word ("redis"); all without names."""
    found = [peer for peer in PEERS if not names or peer.name in names or peer.name.split("-")[0] in names]
    if not found:
        raise SystemExit(f"no peer is named {', '.join(names)}; there are {', '.join(p.name for p in PEERS)}")
    return found


def version(peer):
    package = PACKAGES[peer.protocol]
    shown = subprocess.run(["dpkg-query", "-W", "-f", "${Version}", package], capture_output=True, text=True)
    return shown.stdout.strip() or "not installed"
