# SPDX-License-Identifier: Apache-2.0
"""The command behind script/bench: runs what was asked, prints the goals and tables, writes JSON and docs/benchmarks.md."""
import argparse
import datetime
import json
import os
import pathlib
import platform
import subprocess
import tempfile
import time

import compare
import goals
import own
import own_tables
import peers
import report
import shapes
from measure import say

ROOT = pathlib.Path(__file__).resolve().parent.parent
QUICK_SECONDS_MAX = 290
GARBAGE_JOBS, GARBAGE_JOBS_QUICK = 1_000_000, 300_000  # of which nine of ten are taken, so that the log is cleaned
OWN_PARTS = ("flat", "http", "clean", "engine")


def split_list(text):
    return [word for word in text.split(",") if word]


def parse():
    parser = argparse.ArgumentParser(prog="script/bench", description="Measures weir beside other queues on this machine.")
    parser.add_argument("build", help=argparse.SUPPRESS)
    parser.add_argument("--quick", action="store_true", help="only what the goals ask for, in shorter and fewer runs (under 5 min)")
    parser.add_argument("--long", action="store_true", help="also with 10 M jobs waiting")
    parser.add_argument("--only", type=split_list, default=[], metavar="PEER,...", help="only these peers, or 'none'")
    parser.add_argument("--shape", type=split_list, default=[], metavar="SHAPE,...",
                        help=f"only these: {', '.join(shapes.BY_NAME)}; {', '.join(OWN_PARTS)}")
    parser.add_argument("--rounds", type=int, help="instead of 5 (quick: 3)")
    parser.add_argument("--json", metavar="FILE", help="write every run, the medians and the goals there")
    parser.add_argument("--write", action="store_true", help="write docs/benchmarks.md")
    given = parser.parse_args()
    unknown = [name for name in given.shape if name not in shapes.BY_NAME and name not in OWN_PARTS]
    if unknown:
        parser.error(f"no shape is named {', '.join(unknown)}")
    if given.write and (given.only or given.shape or given.quick):
        parser.error("--write wants the whole run: without --quick, --only and --shape")
    return given


def wanted_shapes(given):
    """Names of shapes of the comparison, and of weir's own parts."""
    if given.shape:
        return [n for n in given.shape if n in shapes.BY_NAME], [n for n in given.shape if n in OWN_PARTS]
    named = [shape.name for shape in shapes.SHAPES if shape.waiting < 10_000_000 or given.long]
    return named, [part for part in OWN_PARTS if part != "engine" or not given.quick]


def processor():
    for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return "unknown"


def filesystem_of(path, mounts):
    """The type of the file system that holds a path, by the text of /proc/mounts."""
    best = ("", "unknown")
    for line in mounts.splitlines():
        point, kind = line.split()[1:3]
        if (str(path) + "/").startswith(point.rstrip("/") + "/") and len(point) >= len(best[0]):
            best = (point, kind)
    return best[1]


def memory_gib():
    return int(pathlib.Path("/proc/meminfo").read_text().split()[1]) / 2**20


def environment(build, others, given):
    version = subprocess.run([build / "weir", "version"], capture_output=True, text=True).stdout.split()
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True).stdout.strip()
    return {
        "date": str(datetime.date.today()), "machine": f"{os.cpu_count()} cores ({processor()}), {memory_gib():.0f} GiB",
        "kernel": platform.release(), "weir": version[-1] if version else "unknown", "commit": commit,
        "versions": {peers.PACKAGES[peer.protocol]: peers.version(peer) for peer in others},
        "settings": {peer.title: " ".join(peer.settings) or "as packaged" for peer in others},
        "command": "script/bench" + (" --quick" if given.quick else "") + (" --long" if given.long else ""),
    }


def has_time(round_number, elapsed_s, is_quick):
    """Whether another round like those before still fits; the first always runs."""
    done = round_number - 1
    return not is_quick or done == 0 or elapsed_s * (done + 1) / done < QUICK_SECONDS_MAX


def run_all(given, build, others):
    shape_names, own_parts = wanted_shapes(given)
    rounds = given.rounds or (3 if given.quick else 5)
    seconds = 0.7 if given.quick else 2.0
    comparison = compare.Comparison(build, seconds, given.quick, shape_names)
    alone = own.Own(build, seconds, (1_000_000, 10_000_000) if given.long else (1_000_000,),
                    GARBAGE_JOBS_QUICK if given.quick else GARBAGE_JOBS)
    begin = time.monotonic()
    done = 0
    for number in range(1, rounds + 1):
        if not has_time(number, time.monotonic() - begin, given.quick):
            break
        say(f"round {number} of {rounds}")
        done = number
        if shape_names:
            comparison.round(number, others)
        if "http" in own_parts:
            alone.http_round(number)
        if "flat" in own_parts:
            alone.flat_round(number)
        if "clean" in own_parts:
            alone.clean_round(number)
    tables = {}
    if "engine" in own_parts:
        tables = {"engine": own_tables.engine_table(build, 3), "restart": own_tables.restart_table(build, 3),
                  "http": own_tables.http_table(build, 3)}
    return comparison.runs + alone.runs, comparison.failures + alone.failures, tables, done


def page(facts, judged, runs, tables, rounds):
    """The text of docs/benchmarks.md."""
    parts = [f"""# Benchmarks

Measured by `{facts['command']}` on {facts['date']}: {facts['machine']}, Linux {facts['kernel']}, weir {facts['weir']} (commit
{facts['commit']}), {report.versions_line(facts['versions'])}. Everything on loopback; driver and server share the cores. Each
cell is the median of {rounds} runs or more. In every round each peer is started on an empty directory, measured and ended, with weir
measured just before and just after it; "weir is N ×" is the median of weir's rate divided by the peer's beside it. Absolute
rates depend on the machine and its disk: what counts are the ratios. weir runs with `durability = "sync"`, every answered write
is on disk, and is driven through its beanstalkd door by the same program as beanstalkd.

## Goals

{report.goals_table(judged)}

## Beside other queues

A job is a whole life cycle: the put was answered, a consumer got the job and its ack was answered. Each driver proves that every
job was put, claimed and acked exactly once. With 1 connection it does all three; at most two jobs a request in flight wait in the
queue, so that put to ack is no measure of how long a queue was let grow. RabbitMQ's acks have no answer and count when they are
sent. "Durable" peers answer when the write is on disk; the others may lose what they answered. "Written" is what the kernel
charges to the server (whole folios of the page cache, so rewriting in place looks dearer than it is), "device" what the disk
got, from all of the machine. Settings: {'; '.join(f'{t}: `{s}`' for t, s in facts['settings'].items())}.

{report.comparison(runs)}

## Flat, and HTTP

Through the beanstalkd door with 16 + 16 connections, 32 in flight each, 100 B; through the HTTP door with 64 keep-alive
connections, one request in flight each, beside a bare Asio and llhttp server that answers with what it got.

{report.own(runs)}"""]
    if tables:
        parts.append(f"""
## Engine with the journal, in process

Whole life cycles (enqueue, claim, ack) with so many jobs waiting besides; medians of 3 runs. CPU includes the driver. Put is
from submit to the durable answer. The RSS column counts index, payload cache (64 MiB) and allocator slack together.

{tables['engine']}

## Restart

From the start of a server that was killed to its first claim, in process.

{tables['restart']}

## HTTP door

Keep-alive connections with one request in flight each. `enqueue`: one job a request. `cycle`: enqueue, claim and ack, one job a
request. `batch`: the same with 100 jobs a request. Medians of 3 runs.

{tables['http']}""")
    return "\n".join(parts) + "\n"


def summary(facts, runs, rounds):
    """What the README says of the comparison."""
    return f"""Beside other queues on the same machine in the same minutes ([all shapes and settings](docs/benchmarks.md)): whole life
cycles of 100 bytes through weir's beanstalkd door, 16 + 16 connections with 32 requests in flight each, on {facts['machine']},
medians of {rounds} alternating runs or more on {facts['date']}.

{report.short_comparison(runs, goals.MANY_DEEP)}"""


def main():
    given = parse()
    build = pathlib.Path(given.build).resolve()
    others = [] if given.only == ["none"] else peers.chosen(given.only)
    if given.quick:
        others = [peer for peer in others if peer.quick_shapes]
    place = pathlib.Path(tempfile.gettempdir()).resolve()
    if filesystem_of(place, pathlib.Path("/proc/mounts").read_text()) in ("tmpfs", "ramfs"):
        raise SystemExit(f"{place} is in memory, where a sync costs nothing: point TMPDIR to a disk")
    begin = time.monotonic()
    facts = environment(build, others, given)
    runs, failures, tables, rounds = run_all(given, build, others)
    found = goals.facts_of(runs)
    judged = goals.judge(found)
    text = page(facts, judged, runs, tables, rounds)
    print(text)
    if failures:
        print("Failed:\n\n" + "\n".join(failures))
    if given.json:
        summaries = {name: {cell: report.stats.summary(runs, name, cell) for cell in sorted({r["cell"] for r in runs if
                            r["peer"] == name})} for name in sorted({r["peer"] for r in runs})}
        pathlib.Path(given.json).write_text(json.dumps({
            "environment": facts, "runs": runs, "medians": summaries, "failures": failures,
            "rounds": rounds, "goals": [{"goal": g.text, "bound": g.bound, "measured": v, "verdict": verdict} for g, v, verdict in judged]},
            indent=1) + "\n")
    if given.write:
        (ROOT / "docs/benchmarks.md").write_text(text)
        readme = ROOT / "README.md"
        readme.write_text(report.replaced(readme.read_text(), summary(facts, runs, rounds)))
    say(f"took {time.monotonic() - begin:.0f} s; goals met: {sum(v == 'met' for _, _, v in judged)} of {len(judged)}, "
        f"not met: {sum(v == 'not met' for _, _, v in judged)}, not measured: {sum(v == 'not measured' for _, _, v in judged)}")
    return 1 if failures else 0


if __name__ == "__main__":
    raise SystemExit(main())
