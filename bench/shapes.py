# SPDX-License-Identifier: Apache-2.0
"""What is run: how many connections with how many requests in flight, and how many jobs wait besides."""
import dataclasses


@dataclasses.dataclass(frozen=True)
class Shape:
    name: str
    title: str
    options: tuple          # of the drivers
    waiting: int = 0        # jobs that wait besides

    @property
    def in_flight(self):
        return self.options[-1]


PAIRS = ("--producers", 16, "--consumers", 16, "--depth")
FILL = ("--producers", 4, "--consumers", 0, "--depth", 128)

SHAPES = (
    Shape("one", "1 connection, 1 in flight", ("--both", 1, "--depth", 1)),
    Shape("deep", "1 connection, 128 in flight", ("--both", 1, "--depth", 128)),
    Shape("many", "16 + 16 connections, 1 in flight each", (*PAIRS, 1)),
    Shape("many-deep", "16 + 16 connections, 32 in flight each", (*PAIRS, 32)),
    Shape("waiting", "the same with 1 M jobs waiting", (*PAIRS, 32), waiting=1_000_000),
    Shape("waiting-10m", "the same with 10 M jobs waiting", (*PAIRS, 32), waiting=10_000_000),
)
BY_NAME = {shape.name: shape for shape in SHAPES}
PAYLOADS = (100, 1024)
FIRST_JOBS = 400    # of the first run of a cell, from which the length of the others is drawn


@dataclasses.dataclass(frozen=True)
class Cell:
    """One place of the table: a shape with a payload."""
    shape: str
    payload: int

    @property
    def key(self):
        return f"{self.shape}/{self.payload}"


def cells_of(peer, names, is_quick):
    """The cells that a peer runs, those that fill the queue last. A quick run has only what the goals ask of the peer."""
    wanted = []
    for shape in SHAPES:
        if shape.name not in names or (peer.batch_only and shape.name in ("one", "many")):
            continue
        if shape.waiting > peer.waiting_max:
            continue
        if is_quick and shape.name not in peer.quick_shapes:
            continue
        payloads = PAYLOADS if not is_quick and shape.waiting == 0 else PAYLOADS[:1]
        wanted += [Cell(shape.name, payload) for payload in payloads]
    return wanted


def jobs_for(rate, seconds, most=3_000_000):
    """How many jobs take about so long at so many a second; a multiple of 100, at least 400."""
    return max(FIRST_JOBS, min(most, int(rate * seconds) // 100 * 100))
