# SPDX-License-Identifier: Apache-2.0
"""What weir is to reach, as bounds on facts. `facts_of` draws the facts from the runs; `judge` compares."""
import dataclasses
import statistics

import stats


@dataclasses.dataclass(frozen=True)
class Goal:
    text: str
    fact: str
    at_least: float = None
    at_most: float = None

    def is_met(self, value):
        return value >= self.at_least if self.at_least is not None else value <= self.at_most

    @property
    def bound(self):
        return f"≥ {self.at_least:.3g}" if self.at_least is not None else f"≤ {self.at_most:.3g}"


MANY_DEEP, MANY, DEEP, ONE = "many-deep/100", "many/100", "deep/100", "one/100"
CACHE_MIB = 64        # weir's payload cache
QUIET = 1.3           # what "flat" allows

GOALS = (
    *(Goal(f"jobs/s against {title} (16 + 16 connections, 32 in flight)", f"jobs:{peer}:{MANY_DEEP}", at_least=times)
      for peer, title, times in (("redis-streams-always", "Redis Streams, fsync always", 5),
                                 ("redis-streams", "Redis Streams, no persistence", 2),
                                 ("rabbitmq-quorum", "RabbitMQ quorum", 12), ("beanstalkd-f0", "beanstalkd -f0", 100),
                                 ("beanstalkd", "beanstalkd in memory", 10), ("nats", "NATS JetStream", 8))),
    Goal("jobs/s against Redis Streams, fsync always (16 + 16, 1 in flight)", f"jobs:redis-streams-always:{MANY}", at_least=1.5),
    Goal("put p99 against Redis Streams, fsync always (16 + 16, 1 in flight)", f"put99:redis-streams-always:{MANY}", at_most=0.8),
    Goal("jobs/s against Redis Streams, fsync always (1 connection, 128 in flight)", f"jobs:redis-streams-always:{DEEP}",
         at_least=2),
    Goal("server CPU µs a life cycle (16 + 16, 32 in flight)", "cpu", at_most=2.2),
    Goal("bytes written a job (16 + 16, 32 in flight)", "written", at_most=300),
    Goal("put p50, idle, against bare echo + 1.3 × bare sync", "put50_over_limits", at_most=1),
    Goal("HTTP: jobs/s, one a request, against a bare echo's requests/s (64 connections)", "http_enqueue", at_least=0.5),
    Goal("HTTP: life cycles/s in batches of 100 against the echo's requests/s", "http_batch", at_least=2),
    *(Goal(f"flat: {what} {title}, against an empty server", f"{fact}:{cell}", **bound)
      for cell, title in (("flat-waiting", "with 1 M waiting"), ("flat-waiting-10m", "with 10 M waiting"),
                          ("flat-queues", "with 10,000 queues"), ("flat-scheduled", "with 1 M scheduled"))
      for what, fact, bound in (("jobs/s", "flat_jobs", {"at_least": 1 / QUIET}), ("CPU a job", "flat_cpu", {"at_most": QUIET}))),
    Goal("CPU a job with 5,000 long polls on 1,000 queues, against none", "flat_cpu:flat-polls", at_most=QUIET),
    Goal("memory bytes a waiting job, without the cache, 1 M waiting", "rss:flat-waiting", at_most=136),
    Goal("memory bytes a waiting job, without the cache, 10 M waiting", "rss:flat-waiting-10m", at_most=136),
    Goal("first claim after a restart with 1 M waiting, s", "restart:flat-waiting", at_most=1),
    Goal("first claim after a restart with 10 M waiting, s", "restart:flat-waiting-10m", at_most=5),
    Goal("sync p99 while cleaning, zero filling and snapshotting, against idle (weir's own histogram)", "sync99", at_most=2),
    Goal("the same seen by a client: put p99, 1 in flight", "clean_put99", at_most=2),
)


def median_ratio(runs, first, second):
    """Median of first(run) / second(run) over the runs that have both."""
    found = [first(run) / second(run) for run in runs if second(run)]
    return statistics.median(found) if found else None


def facts_of(runs):
    """{name of a fact: number}; what was not measured is absent."""
    facts = {}
    for goal in GOALS:
        kind, _, rest = goal.fact.partition(":")
        peer, _, cell = rest.partition(":")
        if kind == "jobs":
            facts[goal.fact] = stats.ratio(runs, peer, cell, "jobs_per_s")
        elif kind == "put99":
            facts[goal.fact] = stats.ratio(runs, peer, cell, "put_p99_us")
        elif kind == "flat_jobs":
            facts[goal.fact] = stats.paired(runs, rest, "flat-empty", "jobs_per_s")
        elif kind == "flat_cpu":
            facts[goal.fact] = stats.paired(runs, rest, "flat-empty", "cpu_us_per_job")
        elif kind == "rss":
            filled = stats.select(runs, stats.SUBJECT, rest)
            facts[goal.fact] = median_ratio(filled, lambda r: r["rss_filled_bytes"] - r["rss_empty_bytes"] - CACHE_MIB * 2**20,
                                            lambda r: r["waiting"])
        elif kind == "restart":
            facts[goal.fact] = stats.median(stats.select(runs, stats.SUBJECT, rest), "first_claim_s")
    ours = stats.select(runs, stats.SUBJECT, MANY_DEEP)
    facts["cpu"] = stats.median(ours, "cpu_us_per_job")
    facts["written"] = stats.median(ours, "written_per_job")
    facts["put50_over_limits"] = median_ratio([r for r in stats.select(runs, stats.SUBJECT, ONE) if "sync_p50_us" in r],
                                              lambda r: r["put_p50_us"], lambda r: r["echo_p50_us"] + 1.3 * r["sync_p50_us"])
    facts["http_enqueue"] = stats.paired(runs, "http-enqueue", "http-echo", "jobs_per_s")
    facts["http_batch"] = stats.paired(runs, "http-batch", "http-echo", "jobs_per_s")
    facts["sync99"] = stats.paired(runs, "clean-busy", "clean-idle", "sync_p99_us")
    facts["clean_put99"] = stats.paired(runs, "clean-busy", "clean-idle", "put_p99_us")
    return {name: value for name, value in facts.items() if value is not None}


def judge(facts):
    """[(goal, number or None, "met" | "not met" | "not measured")]"""
    found = []
    for goal in GOALS:
        value = facts.get(goal.fact)
        found.append((goal, value, "not measured" if value is None else "met" if goal.is_met(value) else "not met"))
    return found
