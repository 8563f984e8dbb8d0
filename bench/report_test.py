# SPDX-License-Identifier: Apache-2.0
"""Tables as text, the choice of cells, and what /proc says, on samples."""
import unittest

import exported
import goals
import measure
import peers
import procs
import report
import run
import shapes


class Tables(unittest.TestCase):
    def test_numbers_keep_what_matters(self):
        self.assertEqual([report.number(v) for v in (None, 1.234, 12.34, 123.4, 123456)], ["–", "1.23", "12.3", "123", "123,456"])

    def test_a_goal_that_is_not_met_stands_out(self):
        text = report.goals_table(goals.judge({"cpu": 3.0, "written": 250.0}))
        self.assertIn("| server CPU µs a life cycle (16 + 16, 32 in flight) | ≤ 2.2 | 3.00 | **not met** |", text)
        self.assertIn("| bytes written a job (16 + 16, 32 in flight) | ≤ 300 | 250 | met |", text)

    def test_a_cell_lists_weir_first_and_leaves_out_who_did_not_run(self):
        def run(peer, visit, rate):
            return {"peer": peer, "cell": "many-deep/100", "visit": visit, "round": 1, "jobs_per_s": rate, "rss_mib": 5,
                    "cpu_us_per_job": 2, "put_p50_us": 10, "put_p99_us": 20, "put_to_ack_p50_us": 30, "put_to_ack_p99_us": 40,
                    "written_per_job": 200, "device_per_job": 300}
        text = report.comparison([run("nats", 2, 50), run("weir", 1, 200)])
        lines = text.split("\n")
        self.assertEqual(lines[0], "### 16 + 16 connections, 32 in flight each, 100 B")
        self.assertTrue(lines[4].startswith("| **weir, sync** | 200 |"))
        self.assertTrue(lines[5].startswith("| NATS JetStream, file | 50.0 | 50.0 – 50.0 | 4.00 × |"))
        self.assertEqual(len(lines), 6)


class Readme(unittest.TestCase):
    def test_only_what_stands_between_the_marks_changes(self):
        page = f"a\n{report.BEGIN}\nold\n{report.END}\nb"
        new = report.replaced(page, "new")
        self.assertEqual(new, f"a\n{report.BEGIN}\nnew\n{report.END}\nb")
        self.assertEqual(report.replaced(new, "new"), new)
        self.assertRaises(ValueError, report.replaced, "a page without marks", "new")

    def test_the_page_has_the_marks(self):
        self.assertIn(f"{report.BEGIN}\na new table\n{report.END}",
                      report.replaced((run.ROOT / "README.md").read_text(), "a new table"))

    def test_the_slowest_beside_weir_stands_first(self):
        def one(peer, visit, rate):
            return {"peer": peer, "cell": goals.MANY_DEEP, "visit": visit, "round": 1, "jobs_per_s": rate, "cpu_us_per_job": 2,
                    "put_p50_us": 10, "put_p99_us": 20}
        lines = report.short_comparison([one("nats", 2, 50), one("weir", 1, 200), one("beanstalkd", 3, 10)],
                                        goals.MANY_DEEP).split("\n")[2:]
        self.assertEqual([line.split(" | ")[0] for line in lines], ["| weir, sync", "| beanstalkd, memory", "| NATS JetStream, file"])


class Cells(unittest.TestCase):
    def test_a_quick_run_has_what_the_goals_ask_of_each_peer(self):
        asked = {(goal.fact.split(":")[1], goal.fact.split(":")[2]) for goal in goals.GOALS if goal.fact.count(":") == 2}
        run = {(peer.name, cell.key) for peer in peers.PEERS for cell in shapes.cells_of(peer, shapes.BY_NAME, True)}
        self.assertEqual(asked, run)
        ours = {cell.key for cell in shapes.cells_of(peers.WEIR, shapes.BY_NAME, True)}
        self.assertLessEqual({cell for _, cell in run} | {goals.ONE}, ours)

    def test_a_full_run_has_both_payloads_and_leaves_out_what_a_peer_cannot(self):
        names = [shape.name for shape in shapes.SHAPES]
        full = {cell.key for cell in shapes.cells_of(peers.WEIR, names, False)}
        self.assertEqual(len(full), 10)
        batch = next(peer for peer in peers.PEERS if peer.batch_only)
        self.assertEqual({c.shape for c in shapes.cells_of(batch, names, False)} & {"one", "many"}, set())
        quorum = next(peer for peer in peers.PEERS if peer.name == "rabbitmq-quorum")
        self.assertNotIn("waiting-10m", {c.shape for c in shapes.cells_of(quorum, names, False)})

    def test_peers_are_chosen_by_name_or_family(self):
        self.assertEqual([p.name for p in peers.chosen(["beanstalkd", "nats"])], ["beanstalkd-f0", "beanstalkd", "nats"])
        self.assertRaises(SystemExit, peers.chosen, ["kafka"])

    def test_jobs_fill_the_time(self):
        self.assertEqual(shapes.jobs_for(1234, 2), 2400)
        self.assertEqual(shapes.jobs_for(10, 2), 400)
        self.assertEqual(shapes.jobs_for(1e9, 2), 3_000_000)


class Exported(unittest.TestCase):
    def reading(self, *counts):
        edges = ("0.001", "0.002", "0.004", "+Inf")
        text = "".join(f'weir_sync_seconds_bucket{{le="{edge}"}} {count}\n' for edge, count in zip(edges, counts))
        return exported.parse("# HELP weir_syncs_total x\nweir_syncs_total 12\n" + text)

    def test_a_percentile_is_of_what_came_between_two_readings(self):
        before, after = self.reading(100, 100, 100, 100), self.reading(150, 199, 200, 200)
        self.assertEqual([exported.percentile(before, after, "weir_sync_seconds", share) for share in (0.5, 0.9, 0.99, 1)],
                         [0.001, 0.002, 0.002, 0.004])

    def test_none_without_the_histogram_or_without_samples(self):
        self.assertIsNone(exported.percentile({}, exported.parse("weir_syncs_total 12\n"), "weir_sync_seconds", 0.99))
        reading = self.reading(1, 2, 3, 4)
        self.assertIsNone(exported.percentile(reading, reading, "weir_sync_seconds", 0.99))


class Place(unittest.TestCase):
    def test_the_deepest_mount_decides(self):
        mounts = "/dev/vda / ext4 rw 0 0\ntmpfs /tmp tmpfs rw 0 0\n/dev/vdb /tmp/disk xfs rw 0 0\n"
        for path, kind in (("/tmp", "tmpfs"), ("/tmpx", "ext4"), ("/tmp/disk/a", "xfs"), ("/", "ext4")):
            self.assertEqual(run.filesystem_of(path, mounts), kind)


class Rounds(unittest.TestCase):
    def test_a_quick_run_begins_no_round_that_would_not_end_in_time(self):
        limit = run.QUICK_SECONDS_MAX
        self.assertTrue(run.has_time(1, limit * 2, True))
        self.assertTrue(run.has_time(2, limit / 2 - 1, True))
        self.assertFalse(run.has_time(2, limit / 2 + 1, True))
        self.assertFalse(run.has_time(3, limit * 2 / 3 + 1, True))
        self.assertTrue(run.has_time(5, limit * 9, False))


class Proc(unittest.TestCase):
    def test_a_command_with_blanks_and_brackets_shifts_nothing(self):
        self.assertEqual(procs.stat_fields("12 (beam (x) y) S 1 2 3")[:2], ["S", "1"])

    def test_a_family_is_all_below_the_root(self):
        self.assertEqual(set(procs.family(1, {2: 1, 3: 2, 4: 9, 5: 3})), {1, 2, 3, 5})

    def test_shared_memory_counts_once(self):
        status = "VmHWM:\t{} kB\nRssAnon:\t1 kB\nRssFile:\t{} kB\nRssShmem:\t{} kB\n"
        self.assertEqual(procs.peak_bytes([status.format(100, 20, 50), status.format(90, 10, 60)]), (30 + 20 + 60 + 20) * 1024)

    def test_own_use_is_seen(self):
        used = procs.use_of(procs.os.getpid())
        self.assertGreater(used.rss_peak_bytes, 1 << 20)
        self.assertGreater(used.cpu_s, 0)

    def test_sectors_of_the_device(self):
        text = " 253 0 vda 1 2 3 4 5 6 10 8 9\n 253 1 vda1 1 2 3 4 5 6 7 8 9"
        self.assertEqual(measure.device_written_bytes((253, 0), text), 5120)
        self.assertEqual(measure.device_written_bytes((8, 0), text), 0)


if __name__ == "__main__":
    unittest.main()
