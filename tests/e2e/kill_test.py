# SPDX-License-Identifier: Apache-2.0
"""kill -9 in mid-run, over and over, with mixed producers and workers; the history checker judges the whole run.

WEIR_KILL_CYCLES sets how many times (20 by default), WEIR_SEED repeats a run.
"""
import os
import pathlib
import random
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "tools"))

import harness
import history
import load as loads


class KillTest(harness.Case):
    def test_nothing_is_lost_doubled_or_over_its_attempts(self):
        cycles = int(os.environ.get("WEIR_KILL_CYCLES", "20"))
        seed = os.environ.get("WEIR_SEED") or str(random.SystemRandom().randrange(1 << 32))
        print(f"repeat with: WEIR_SEED={seed} WEIR_KILL_CYCLES={cycles} script/test kill_test", flush=True)
        rng = random.Random(seed)
        server = self.server("--config", str(self.configuration()), start=False)
        load = loads.Load(seed)
        threads = loads.start(load, producers=4, workers=6)
        self.addCleanup(load.stopping.set)
        for cycle in range(cycles):
            server.start()
            load.address = server.address
            time.sleep(rng.uniform(0.1, 0.7))  # how long the server lives is the experiment, not a wait for something
            load.address = None
            server.kill()
        server.start()
        self.addCleanup(server.kill)
        load.address = server.address
        load.producing.clear()
        client = server.client()
        harness.wait_until(lambda: self.living(client, load.queues) == 0, "the final drain", seconds=240)
        load.stopping.set()
        for thread in threads:
            thread.join(timeout=harness.CALL_SECONDS_MAX)
        self.assertEqual(load.errors, [])
        counted = {q: client.get(f"/v1/queues/{q}").json["counts"] for q in load.queues}
        jobs = loads.ledger(client, load.queues)
        verdict = history.check(load.history, jobs)
        print(verdict.report(), flush=True)
        self.assertTrue(verdict.ok, verdict.report() + "\n" + server.log())
        self.assertGreater(verdict.counts["ack_ok"], cycles, "too little was done to prove anything")
        by_state = {}
        for job in jobs.values():
            by_state[job["status"]] = by_state.get(job["status"], 0) + 1
        sums = {}
        for counts in counted.values():
            for state, count in counts.items():
                sums[state] = sums.get(state, 0) + count
        self.assertEqual({s: c for s, c in sums.items() if c}, by_state, "the counters differ from the ledger")
        self.assertEqual(server.stop(), 0, server.log())
        checked = harness.weir("store", "verify", server.data)
        self.assertEqual(checked.returncode, 0, checked.stdout + checked.stderr)

    def configuration(self):
        path = self.folder / "weir.toml"
        path.write_text('[defaults]\ncompleted_max = 1000000\nlease = "2s"\n')
        return path

    def living(self, client, queues):
        total = 0
        for queue in queues:
            answer = client.get(f"/v1/queues/{queue}")
            if answer.status == 404:
                continue
            total += sum(count for state, count in answer.json["counts"].items()
                         if state in ("pending", "scheduled", "processing", "failed", "blocked"))
        return total
