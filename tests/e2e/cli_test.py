# SPDX-License-Identifier: Apache-2.0
"""Every verb of the command line against a real server: what it prints, --json, exit codes, help and completion."""
import json
import re
import subprocess
import threading
import time

import harness


class CliTest(harness.Case):
    def setUp(self):
        super().setUp()
        self.running = self.server()

    def run_ok(self, *arguments, stdin=None):
        done = harness.weir(*arguments, url=self.running.url, stdin=stdin)
        self.assertEqual(done.returncode, 0, f"{arguments}: {done.stdout}{done.stderr}")
        return done.stdout

    def run_json(self, *arguments, stdin=None):
        return json.loads(self.run_ok(*arguments, "--json", stdin=stdin))

    def test_enqueue_takes_data_file_stdin_and_options(self):
        plain = self.run_json("enqueue", "mail", '{"to":"a"}', "--kind", "welcome", "--class", "P1", "--priority", "-3")
        job = self.run_json("job", "get", plain["id"])
        self.assertEqual((job["kind"], job["class"], job["priority"], job["status"]), ("welcome", "P1", -3, "pending"))
        path = self.folder / "payload.json"
        path.write_text('{"big": 3889108265204450030}')
        self.run_ok("enqueue", "mail", f"@{path}", "--delay", "1h", "--key", "k", "--ttl", "2h", "--group", "g",
                    "--header", "traceparent=00-1-2-01")
        self.run_ok("enqueue", "mail", "-", stdin='{"from":"stdin"}')
        listed = self.run_json("job", "ls", "--queue", "mail", "--limit", "10")["jobs"]
        self.assertEqual(len(listed), 3)

    def test_batch_reads_ndjson_and_names_the_bad_line(self):
        lines = "".join(json.dumps({"payload": {"n": n}}) + "\n" for n in range(2500))
        done = self.run_ok("enqueue", "bulk", "--batch", "-", "--json", stdin=lines)
        ids = [job for line in done.splitlines() for job in json.loads(line)["ids"]]
        self.assertEqual(len(set(ids)), 2500)
        self.assertEqual(self.run_json("queue", "get", "bulk")["counts"]["pending"], 2500)
        bad = harness.weir("enqueue", "bulk", "--batch", "-", url=self.running.url, stdin='{"payload":1}\n{"payload":\n')
        self.assertEqual(bad.returncode, 65, bad.stderr)
        self.assertIn("2", bad.stderr)

    def test_job_verbs(self):
        job = self.run_json("enqueue", "q", "1", "--delay", "1h")["id"]
        self.assertEqual(self.run_json("job", "promote", job)["status"], "pending")
        self.assertEqual(self.run_json("job", "cancel", job)["status"], "cancelled")
        self.assertEqual(self.run_json("job", "replay", job)["status"], "pending")
        self.run_ok("job", "delete", job)
        gone = harness.weir("job", "get", job, url=self.running.url)
        self.assertEqual(gone.returncode, 1)
        self.assertIn("not_found", gone.stderr)

    def test_queue_verbs(self):
        self.run_ok("queue", "set", "emails", "retry=exp2", "max_depth=2", "class=P1")
        shown = self.run_json("queue", "get", "emails")
        self.assertEqual(shown["max_depth"], 2)
        self.assertEqual(shown["max_attempts"], 5)
        self.run_ok("queue", "pause", "emails")
        self.run_ok("enqueue", "emails", "1")
        self.run_ok("enqueue", "emails", "2")
        full = harness.weir("enqueue", "emails", "3", url=self.running.url)
        self.assertEqual(full.returncode, 75, full.stderr)
        self.assertIn("queue_saturated", full.stderr)
        client = self.running.client()
        self.assertEqual(client.post("/v1/claim", {"queues": ["emails"]}).json["jobs"], [])
        self.run_ok("queue", "resume", "emails")
        self.assertEqual(len(client.post("/v1/claim", {"queues": ["emails"]}).json["jobs"]), 1)
        self.assertIn("purged: 1 jobs", self.run_ok("queue", "purge", "emails"))
        refused = harness.weir("queue", "rm", "emails", url=self.running.url)
        self.assertEqual(refused.returncode, 1, refused.stderr)
        self.assertIn("emails", self.run_ok("queue", "ls"))

    def test_dead_letters_are_listed_shown_and_replayed(self):
        job = self.run_json("enqueue", "q", '{"a":1}')["id"]
        client = self.running.client()
        held = client.post("/v1/claim", {"queues": ["q"]}).json["jobs"][0]
        client.post(f"/v1/jobs/{job}/fail", {"lease_token": held["lease_token"], "dead": True,
                                             "error": {"class": "business", "message": "card declined"}})
        self.assertIn("card declined", self.run_ok("dead", "ls", "q"))
        self.assertIn("card declined", self.run_ok("dead", "show", job))
        self.run_ok("dead", "replay", job)
        self.assertEqual(self.run_json("job", "get", job)["status"], "pending")

    def test_tokens_close_the_server_and_scope_what_may_be_done(self):
        made = self.run_json("token", "create", "--name", "producer", "--scope", "enqueue", "--queue", "mail*")
        closed = harness.weir("queue", "ls", url=self.running.url)
        self.assertEqual(closed.returncode, 77, closed.stderr)
        token = {"WEIR_TOKEN": made["token"]}
        self.assertEqual(harness.weir("enqueue", "mail.out", "1", url=self.running.url, environment=token).returncode, 0)
        for denied in (("enqueue", "other", "1"), ("queue", "ls"), ("queue", "pause", "mail.out")):
            done = harness.weir(*denied, url=self.running.url, environment=token)
            self.assertEqual(done.returncode, 77, f"{denied}: {done.stderr}")

    def test_a_revoked_token_is_refused_at_once(self):
        admin = self.run_json("token", "create", "--name", "admin", "--scope", "admin")
        env = {"WEIR_TOKEN": admin["token"]}
        other = json.loads(harness.weir("token", "create", "--name", "reader", "--scope", "read", "--json",
                                        url=self.running.url, environment=env).stdout)
        reader = self.running.client(other["token"])
        self.assertEqual(reader.get("/v1/queues").status, 200)
        done = harness.weir("token", "revoke", other["id"], url=self.running.url, environment=env)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(reader.get("/v1/queues").status, 401)

    def test_exit_codes(self):
        self.assertEqual(harness.weir("version").returncode, 0)
        self.assertEqual(harness.weir("no-such-verb").returncode, 2)
        self.assertEqual(harness.weir("enqueue").returncode, 2)
        self.assertEqual(harness.weir("enqueue", "q", "1", url="http://127.0.0.1:1").returncode, 69)
        self.assertEqual(harness.weir("enqueue", "q", "1", "--delay", "soon", url=self.running.url).returncode, 2)
        self.assertEqual(harness.weir("enqueue", "q", "1", "--kind", "a\nb", url=self.running.url).returncode, 65)
        self.assertIn("enqueue", harness.weir("enqeue", "q", "1", url=self.running.url).stderr)

    def test_check_names_mistakes_and_passes_what_is_right(self):
        config = self.folder / "weir.toml"
        config.write_text('[queues.a]\nretry = { base = "1s", factor = 2 }\n[servre]\n')
        done = harness.weir("check", "--config", config)
        self.assertEqual(done.returncode, 78)
        said = done.stdout + done.stderr
        self.assertIn(f"{config}:2: queues.a.retry", said)
        self.assertIn(f"{config}:3: servre: unknown key servre; did you mean server?", said)
        config.write_text(harness.weir("check", "--defaults").stdout)
        done = harness.weir("check", "--config", config)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_help_has_examples_and_completion_knows_every_command(self):
        top = harness.weir("--help").stdout
        commands = re.findall(r"^  ([a-z]+)\s{2,}", top, re.M)
        for wanted in ("serve", "enqueue", "work", "job", "queue", "dead", "token", "events", "check", "completion",
                       "version", "store"):
            self.assertIn(wanted, commands, top)
            shown = harness.weir(wanted, "--help")
            self.assertEqual(shown.returncode, 0)
            self.assertRegex(shown.stdout, r"(?i)example", wanted)
        for shell in ("bash", "zsh", "fish"):
            script = harness.weir("completion", shell).stdout
            for wanted in ("enqueue", "promote", "revoke", "backup"):
                self.assertIn(wanted, script, shell)
        check = subprocess.run(["bash", "-n"], input=harness.weir("completion", "bash").stdout, text=True,
                               capture_output=True)
        self.assertEqual(check.returncode, 0, check.stderr)

    def test_events_follow(self):
        follower = self.background("events", "--json", url=self.running.url)
        line = None

        def one():
            nonlocal line
            line = follower.stdout.readline()
        reader = threading.Thread(target=one)
        reader.start()
        end = time.monotonic() + 30
        while reader.is_alive() and time.monotonic() < end:
            self.run_ok("enqueue", "q", "1")
            reader.join(timeout=0.2)
        self.assertIn("enqueue", line or "")

    def test_odd_queue_names_work_everywhere(self):  # B63
        for name in ("test/transactions", "task:email", "#", "queue+name", "foo/bar.baz", "°C", "a b", "..", "%2F",
                     "x" * 255, "<img src=x>"):
            job = self.run_json("enqueue", name, "1")["id"]
            self.assertEqual(self.run_json("queue", "get", name)["name"], name)
            self.assertEqual([j["id"] for j in self.run_json("job", "ls", "--queue", name)["jobs"]], [job])
            self.run_ok("queue", "pause", name)
            self.run_ok("queue", "purge", name)
        for name in ("a\nb", "x" * 256, ""):
            done = harness.weir("enqueue", name, "1", url=self.running.url)
            self.assertIn(done.returncode, (2, 65), done.stderr)

    def test_long_numbers_keep_every_digit_on_the_whole_way(self):  # B65
        payload = ('{"id": 1970670598291982290, "list": [899999999999999990, 130775545883395173, 18446744073709551615], '
                   '"odd": [1e22, 0.1, -0, 1E+2, 1234567890123456789012345678901234567890]}')
        job = self.run_json("enqueue", "q", payload)["id"]
        self.assertIn(payload, self.run_ok("job", "get", job))
        self.assertIn(payload, self.run_ok("job", "get", job, "--json"))
        out = self.folder / "out"
        handler = self.script("handler", f"cat > {out}\nexit 65\n")
        self.run_ok("work", "--queue", "q", "--drain", "--exec", handler)
        self.assertEqual(out.read_text(), payload)
        self.assertIn(payload, self.run_ok("dead", "show", job))
