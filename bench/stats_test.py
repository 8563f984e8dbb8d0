# SPDX-License-Identifier: Apache-2.0
"""Medians, ratios between neighbours, and the goals drawn from them, on runs written down by hand."""
import unittest

import goals
import stats


def run(peer, visit, rate, cell="many-deep/100", number=1, **more):
    return {"peer": peer, "cell": cell, "visit": visit, "round": number, "jobs_per_s": rate, "cpu_us_per_job": 2.0, **more}


class Ratios(unittest.TestCase):
    def test_a_peer_is_compared_with_the_mean_of_weir_just_before_and_after(self):
        runs = [run("weir", 1, 1000), run("weir", 3, 100), run("a", 4, 50), run("weir", 5, 300), run("weir", 7, 9000)]
        self.assertEqual(stats.ratios(runs, "a", "many-deep/100", "jobs_per_s"), [4.0])

    def test_the_first_and_last_visit_have_one_neighbour(self):
        runs = [run("a", 1, 50), run("weir", 2, 100), run("a", 3, 25)]
        self.assertEqual(stats.ratios(runs, "a", "many-deep/100", "jobs_per_s"), [2.0, 4.0])

    def test_other_cells_do_not_count(self):
        runs = [run("weir", 1, 100, cell="one/100"), run("a", 2, 50)]
        self.assertEqual(stats.ratios(runs, "a", "many-deep/100", "jobs_per_s"), [])
        self.assertIsNone(stats.ratio(runs, "a", "many-deep/100", "jobs_per_s"))

    def test_the_ratio_is_the_median_of_the_rounds_not_the_ratio_of_medians(self):
        runs = []
        for visit, ours, theirs in ((1, 100, 50), (11, 1000, 100), (21, 10, 10)):
            runs += [run("weir", visit, ours), run("a", visit + 1, theirs), run("weir", visit + 2, ours)]
        self.assertEqual(stats.ratio(runs, "a", "many-deep/100", "jobs_per_s"), 2.0)

    def test_paired_divides_within_a_round(self):
        runs = [run("weir", 0, 80, "flat-queues", 1), run("weir", 0, 100, "flat-empty", 1),
                run("weir", 0, 30, "flat-queues", 2), run("weir", 0, 20, "flat-empty", 2),
                run("weir", 0, 99, "flat-queues", 3)]
        self.assertAlmostEqual(stats.paired(runs, "flat-queues", "flat-empty", "jobs_per_s"), (0.8 + 1.5) / 2)


class Summary(unittest.TestCase):
    def test_medians_and_spread(self):
        runs = [run("weir", visit, rate, put_p50_us=rate / 10) for visit, rate in ((1, 30), (3, 10), (5, 20))]
        found = stats.summary(runs, "weir", "many-deep/100")
        self.assertEqual((found["jobs_per_s"], found["jobs_per_s_lowest"], found["jobs_per_s_highest"]), (20, 10, 30))
        self.assertEqual((found["put_p50_us"], found["runs"]), (2.0, 3))
        self.assertNotIn("weir_is_times", found)

    def test_nothing_without_runs(self):
        self.assertIsNone(stats.summary([], "weir", "one/100"))


class Goals(unittest.TestCase):
    def verdict(self, runs, fact):
        return next((value, verdict) for goal, value, verdict in goals.judge(goals.facts_of(runs)) if goal.fact == fact)

    def test_rates_against_a_peer(self):
        fact = "jobs:redis-streams-always:many-deep/100"
        for ours, verdict in ((499, "not met"), (500, "met")):
            runs = [run("weir", 1, ours), run("redis-streams-always", 2, 100)]
            self.assertEqual(self.verdict(runs, fact), (ours / 100, verdict))
        self.assertEqual(self.verdict([], fact), (None, "not measured"))

    def test_put_p99_is_a_ratio_that_must_be_small(self):
        runs = [run("weir", 1, 1, "many/100", put_p99_us=79), run("redis-streams-always", 2, 1, "many/100", put_p99_us=100)]
        self.assertEqual(self.verdict(runs, "put99:redis-streams-always:many/100"), (0.79, "met"))

    def test_put_p50_against_what_the_machine_allows(self):
        one = {"cell": "one/100", "echo_p50_us": 40, "sync_p50_us": 200}
        self.assertEqual(self.verdict([run("weir", 1, 1, put_p50_us=300, **one)], "put50_over_limits"), (1.0, "met"))
        self.assertEqual(self.verdict([run("weir", 1, 1, put_p50_us=330, **one)], "put50_over_limits"), (1.1, "not met"))

    def test_memory_is_counted_without_the_cache(self):
        filled = run("weir", 0, 1, "flat-waiting", waiting=1_000_000, rss_empty_bytes=10_000_000,
                     rss_filled_bytes=10_000_000 + goals.CACHE_MIB * 2**20 + 140_000_000, first_claim_s=0.5)
        self.assertEqual(self.verdict([filled], "rss:flat-waiting"), (140.0, "not met"))
        self.assertEqual(self.verdict([filled], "restart:flat-waiting"), (0.5, "met"))

    def test_flat_has_a_bound_for_the_rate_and_one_for_cpu(self):
        runs = [run("weir", 0, 100, "flat-empty"), run("weir", 0, 76, "flat-queues", cpu_us_per_job=2.6)]
        runs[1]["cpu_us_per_job"] = 2.7
        self.assertEqual(self.verdict(runs, "flat_jobs:flat-queues")[1], "not met")
        self.assertEqual(self.verdict(runs, "flat_cpu:flat-queues")[1], "not met")
        runs[1].update(jobs_per_s=78, cpu_us_per_job=2.5)
        self.assertEqual(self.verdict(runs, "flat_jobs:flat-queues")[1], "met")
        self.assertEqual(self.verdict(runs, "flat_cpu:flat-queues")[1], "met")

    def test_every_goal_has_one_bound_and_a_fact_of_its_own(self):
        for goal in goals.GOALS:
            self.assertNotEqual(goal.at_least is None, goal.at_most is None, goal.text)
        self.assertEqual(len({goal.fact for goal in goals.GOALS}), len(goals.GOALS))


if __name__ == "__main__":
    unittest.main()
