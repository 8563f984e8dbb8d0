# SPDX-License-Identifier: Apache-2.0
"""The checker finds each kind of violation in a history that has it, and nothing in one that has none."""
import itertools
import unittest

from history import check


class Script:
    """Writes a history by hand: each call takes one tick."""

    def __init__(self):
        self.events, self.calls, self.now = [], itertools.count(), 0.0

    def call(self, op, end="ok", wait=0.0, **fields):
        number = next(self.calls)
        answer = {k: fields.pop(k) for k in ("jobs", "job_answer") if k in fields}
        if "job_answer" in answer:
            answer["job"] = answer.pop("job_answer")
        self.events.append({"type": "invoke", "call": number, "process": "p", "op": op, "at": self.now, **fields})
        self.now += 1.0
        if end:
            self.events.append({"type": end, "call": number, "process": "p", "op": op, "at": self.now, **answer})
        self.now += 1.0 + wait

    def enqueue(self, number, job, end="ok"):
        self.call("enqueue", end, number=number, job_answer=job)

    def claim(self, job, attempt, number, lease=10.0, hash_ok=True, max_attempts=3):
        self.call("claim", lease=lease, jobs=[{"job": job, "attempt": attempt, "number": number, "hash_ok": hash_ok,
                                               "max_attempts": max_attempts}])

    def end(self, op, job, attempt, end="ok"):
        self.call(op, end, job=job, attempt=attempt)


def kinds(script, ledger):
    verdict = check(script.events, ledger)
    return sorted(kind for kind, found in verdict.violations.items() if found)


def done(number=1, status="completed"):
    return {"status": status, "attempt": 1, "max_attempts": 3, "number": number}


class HistoryTest(unittest.TestCase):
    def test_a_plain_life_is_right(self):
        s = Script()
        s.enqueue(1, "a")
        s.claim("a", 1, 1)
        s.end("fail", "a", 1)
        s.claim("a", 2, 1)
        s.end("ack", "a", 2)
        self.assertEqual(kinds(s, {"a": done()}), [])
        self.assertEqual(kinds(s, {}), [])  # retention took it

    def test_lost(self):
        s = Script()
        s.enqueue(1, "a")
        self.assertEqual(kinds(s, {}), ["lost"])

    def test_an_enqueue_without_answer_may_be_there_or_not(self):
        s = Script()
        s.enqueue(1, "a", end="info")
        self.assertEqual(kinds(s, {}), [])
        self.assertEqual(kinds(s, {"a": done()}), [])

    def test_not_ended(self):
        s = Script()
        s.enqueue(1, "a")
        self.assertEqual(kinds(s, {"a": done(status="processing")}), ["not_ended"])

    def test_doubled(self):
        s = Script()
        s.enqueue(1, "a")
        s.enqueue(1, "b")
        self.assertEqual(kinds(s, {"a": done(), "b": done()}), ["doubled"])

    def test_unexpected_and_garbled(self):
        s = Script()
        s.enqueue(1, "a")
        s.claim("a", 1, 1, hash_ok=False)
        s.claim("b", 1, 99)
        self.assertEqual(kinds(s, {"a": done()}), ["garbled", "unexpected"])

    def test_delivered_after_ack(self):
        s = Script()
        s.enqueue(1, "a")
        s.claim("a", 1, 1)
        s.end("ack", "a", 1)
        s.claim("a", 2, 1)
        self.assertEqual(kinds(s, {"a": done()}), ["delivered_after_ack"])

    def test_overlapping_leases(self):
        s = Script()
        s.enqueue(1, "a")
        s.claim("a", 1, 1, lease=100.0)
        s.claim("a", 2, 1)
        self.assertEqual(kinds(s, {"a": done()}), ["overlapping_lease"])

    def test_a_lease_that_ran_out_may_be_followed_by_another(self):
        s = Script()
        s.enqueue(1, "a")
        s.claim("a", 1, 1, lease=1.0)
        s.claim("a", 2, 1)
        self.assertEqual(kinds(s, {"a": done()}), [])

    def test_stale_accepted(self):
        s = Script()
        s.enqueue(1, "a")
        s.claim("a", 1, 1, lease=1.0)
        s.claim("a", 2, 1)
        s.end("ack", "a", 1)
        self.assertIn("stale_accepted", kinds(s, {"a": done()}))

    def test_over_attempts_but_releases_are_excused(self):
        s = Script()
        s.enqueue(1, "a")
        for attempt in range(1, 4):
            s.claim("a", attempt, 1, max_attempts=2)
            s.end("release" if attempt == 2 else "fail", "a", attempt)
        self.assertEqual(kinds(s, {"a": done(status="dead")}), [])
        s.claim("a", 4, 1, max_attempts=2)
        self.assertEqual(kinds(s, {"a": done(status="dead")}), ["over_attempts"])

    def test_attempt_repeated(self):
        s = Script()
        s.enqueue(1, "a")
        s.claim("a", 1, 1, lease=1.0)
        s.claim("a", 1, 1)
        self.assertEqual(kinds(s, {"a": done()}), ["attempt_repeated"])


if __name__ == "__main__":
    unittest.main()
