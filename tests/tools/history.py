# SPDX-License-Identifier: Apache-2.0
"""The history checker: judges what clients saw, and shares no code with the rules that it judges.

Every client appends events to a history, one dict each:

    type      "invoke" before a call, then one of "ok" (the server answered with success), "fail" (it refused: no effect) or
              "info" (no answer: the effect may or may not have happened)
    call      a number that joins an invoke with its end
    process   who
    op        enqueue, claim, ack, fail, release, cancel
    at        seconds on one monotonic clock of the machine
    number    enqueue: the number in the payload; claim ok: "jobs" below has it
    job       job id (ack, fail, release, cancel; enqueue ok)
    attempt   ack, fail, release: the attempt whose token was shown
    lease     claim: seconds asked for
    jobs      claim ok: [{"job", "attempt", "number", "hash_ok", "max_attempts"}]

After a final drain the ledger is a dict: job id -> {"status", "attempt", "max_attempts", "number"}. Jobs that retention took
are missing from it, which is right only for completed ones. An "info" is always allowed both ways.
"""
import collections


class Verdict:
    """Violations by kind, each a list of readable lines, and counts of what was seen."""

    KINDS = ("lost", "unexpected", "doubled", "garbled", "delivered_after_ack", "overlapping_lease", "stale_accepted",
             "over_attempts", "attempt_repeated", "not_ended")

    def __init__(self):
        self.violations = {kind: [] for kind in self.KINDS}
        self.counts = collections.Counter()

    def add(self, kind, line):
        self.violations[kind].append(line)

    @property
    def ok(self):
        return not any(self.violations.values())

    def report(self):
        lines = ["  ".join(f"{name} {count}" for name, count in sorted(self.counts.items()))]
        for kind, found in self.violations.items():
            if found:
                lines.append(f"{kind}: {len(found)}")
                lines += ["    " + line for line in found[:5]]
        return "\n".join(lines)


class _Call:
    __slots__ = ("invoke", "end")

    def __init__(self, invoke):
        self.invoke = invoke
        self.end = None

    @property
    def outcome(self):
        return self.end["type"] if self.end else "info"

    @property
    def ended_at(self):
        """When the effect was surely in place; without an answer nobody knows, so never."""
        return self.end["at"] if self.outcome == "ok" else float("inf")


def _pair(history):
    calls = {}
    for event in sorted(history, key=lambda e: e["at"]):
        if event["type"] == "invoke":
            calls[event["call"]] = _Call(event)
        else:
            calls[event["call"]].end = event
    return list(calls.values())


class _Delivery:
    __slots__ = ("attempt", "max_attempts", "asked_at", "got_at", "lease", "ended_at")

    def __init__(self, job, call):
        self.attempt, self.max_attempts = job["attempt"], job["max_attempts"]
        self.asked_at, self.got_at, self.lease = call.invoke["at"], call.end["at"], call.invoke["lease"]
        self.ended_at = float("inf")  # when a verb that ends the lease was first sent


def check(history, ledger, drained=True, excused_ops=("release",)):
    """Returns a Verdict. `drained`: nothing was left to claim when the ledger was taken."""
    verdict = Verdict()
    calls = _pair(history)
    by_op = collections.defaultdict(list)
    for call in calls:
        by_op[call.invoke["op"]].append(call)
        verdict.counts[call.invoke["op"] + "_" + call.outcome] += 1

    numbers_asked = {c.invoke["number"] for c in by_op["enqueue"]}
    accepted = {}  # job -> number
    for call in by_op["enqueue"]:
        if call.outcome == "ok":
            accepted[call.end["job"]] = call.invoke["number"]

    deliveries, number_of = _deliveries(by_op, numbers_asked, verdict)
    ends = _ends(by_op, deliveries)
    for job, number in accepted.items():
        number_of.setdefault(job, number)
    for job, entry in ledger.items():
        if entry.get("number") is not None:
            number_of.setdefault(job, entry["number"])

    _check_doubled(number_of, verdict)
    _check_lost(accepted, ledger, ends, drained, verdict)
    for job, found in deliveries.items():
        _check_job(job, sorted(found, key=lambda d: d.got_at), ends[job], excused_ops, verdict)
    return verdict


def _deliveries(by_op, numbers_asked, verdict):
    deliveries = collections.defaultdict(list)
    number_of = {}
    for call in by_op["claim"]:
        if call.outcome != "ok":
            continue
        for job in call.end["jobs"]:
            verdict.counts["delivered"] += 1
            deliveries[job["job"]].append(_Delivery(job, call))
            if job["number"] not in numbers_asked:
                verdict.add("unexpected", f"job {job['job']} carries {job['number']!r}, which nobody enqueued")
            if not job["hash_ok"]:
                verdict.add("garbled", f"job {job['job']} attempt {job['attempt']}: the payload is not what was enqueued")
            number_of[job["job"]] = job["number"]
    return deliveries, number_of


def _ends(by_op, deliveries):
    """job -> calls that end a lease, and marks the deliveries that they end."""
    ends = collections.defaultdict(list)
    for op in ("ack", "fail", "release"):
        for call in by_op[op]:
            ends[call.invoke["job"]].append(call)
            for delivery in deliveries.get(call.invoke["job"], ()):
                if delivery.attempt == call.invoke["attempt"] and call.outcome != "fail":
                    delivery.ended_at = min(delivery.ended_at, call.invoke["at"])
    return ends


def _check_doubled(number_of, verdict):
    jobs_of = collections.defaultdict(set)
    for job, number in number_of.items():
        jobs_of[number].add(job)
    for number, jobs in jobs_of.items():
        if len(jobs) > 1:
            verdict.add("doubled", f"number {number} became the jobs {sorted(jobs)}")


def _check_lost(accepted, ledger, ends, drained, verdict):
    for job, number in accepted.items():
        entry = ledger.get(job)
        if entry is not None:
            if drained and entry["status"] not in ("completed", "dead", "cancelled", "expired"):
                verdict.add("not_ended", f"job {job} (number {number}) is still {entry['status']} after the drain")
            continue
        acked = any(c.invoke["op"] == "ack" and c.outcome != "fail" for c in ends.get(job, ()))
        if not acked:
            verdict.add("lost", f"job {job} (number {number}) was accepted, was never acked, and is not in the ledger")


def _check_job(job, found, ends, excused_ops, verdict):
    attempts = [d.attempt for d in found]
    if len(set(attempts)) != len(attempts):
        verdict.add("attempt_repeated", f"job {job} was delivered as attempts {attempts}")
    acked_at = min((c.ended_at for c in ends if c.invoke["op"] == "ack"), default=float("inf"))
    for delivery in found:
        if delivery.asked_at > acked_at:
            verdict.add("delivered_after_ack",
                        f"job {job} attempt {delivery.attempt} was claimed {delivery.asked_at - acked_at:.3f} s after its ack")
    for earlier, later in zip(found, found[1:]):
        still_held = min(earlier.asked_at + earlier.lease, earlier.ended_at)
        if later.got_at < still_held:
            verdict.add("overlapping_lease",
                        f"job {job}: attempt {later.attempt} came {still_held - later.got_at:.3f} s before attempt "
                        f"{earlier.attempt} had ended")
        for call in ends:
            if call.outcome == "ok" and call.invoke["attempt"] == earlier.attempt and call.invoke["at"] > later.got_at \
                    and not _repeats(call, ends):
                verdict.add("stale_accepted", f"job {job}: {call.invoke['op']} of attempt {earlier.attempt} was accepted "
                                              f"after attempt {later.attempt} had been delivered")
    excused = sum(1 for c in ends if c.invoke["op"] in excused_ops and c.outcome != "fail")
    bound = max(d.max_attempts for d in found)
    if len(set(attempts)) - excused > bound:
        verdict.add("over_attempts", f"job {job}: {len(set(attempts))} deliveries, {excused} excused, bound {bound}")


def _repeats(call, ends):
    """An accepted verb whose reply was lost may be repeated and answers as the first time."""
    return any(other is not call and other.invoke["op"] == call.invoke["op"]
               and other.invoke["attempt"] == call.invoke["attempt"] and other.outcome != "fail"
               and other.invoke["at"] < call.invoke["at"] for other in ends)
