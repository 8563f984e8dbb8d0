# SPDX-License-Identifier: Apache-2.0
"""`weir work` as a process against a real server: exit codes, process groups, stops, restarts of either side."""
import http.server
import json
import os
import signal
import threading
import time

import harness
from server_test import enqueue


class ExecTest(harness.Case):
    def drain(self, server, handler, *more, queue="q", code=0):
        done = harness.weir("work", "--queue", queue, "--drain", *more, "--exec", handler, url=server.url)
        self.assertEqual(done.returncode, code, done.stderr)
        return done

    def test_exit_codes_decide(self):
        server = self.server()
        client = server.client()
        once = {"retry": {"delays": ["0s"], "max_attempts": 2}}
        cases = {0: ("completed", 1), 75: ("dead", 2), 65: ("dead", 1), 78: ("dead", 1), 3: ("dead", 2)}
        handler = self.script("handler", 'code=$(cat)\necho "said $code" >&2\nexit $code\n')
        ids = {code: client.post("/v1/queues/q/jobs", {"payload": code, **once}).json["id"] for code in cases}
        self.drain(server, handler)
        for code, (status, attempts) in cases.items():
            job = client.get(f"/v1/jobs/{ids[code]}").json
            self.assertEqual((job["status"], job["attempts"]), (status, attempts), f"exit {code}: {job}")
            if code:
                self.assertIn(f"said {code}", job["last_error"])
        self.assertTrue(client.get(f"/v1/jobs/{ids[65]}").json["reason"].startswith("deserialization: "))

    def test_the_environment_tells_the_job_and_no_more(self):
        server = self.server()
        job = enqueue(server.client(), kind="mail")
        out = self.folder / "env"
        handler = self.script("handler", f'env > {out}\n')
        done = harness.weir("work", "--queue", "q", "--drain", "--exec", handler, url=server.url,
                            environment={"AWS_SECRET": "x", "LD_PRELOAD": ""})
        self.assertEqual(done.returncode, 0, done.stderr)
        env = dict(line.split("=", 1) for line in out.read_text().splitlines() if "=" in line)
        self.assertEqual(env["WEIR_JOB_ID"], job)
        self.assertEqual((env["WEIR_QUEUE"], env["WEIR_KIND"], env["WEIR_ATTEMPT"]), ("q", "mail", "1"))
        for name in ("WEIR_MAX_ATTEMPTS", "WEIR_FENCE", "WEIR_LEASE_TOKEN", "WEIR_DEADLINE", "WEIR_RETRY_AFTER_FILE"):
            self.assertIn(name, env)
        self.assertNotIn("AWS_SECRET", env)
        self.assertNotIn("WEIR_TOKEN", env)

    def test_payload_arguments_and_shell_signs_arrive_as_they_are(self):  # S31, G38
        server = self.server()
        payload = bytes(range(256)) * 3 + b'; rm -rf / $(touch x) "quoted"'
        answer = server.client().call("POST", "/v1/queues/q/jobs", payload, {"Content-Type": "application/octet-stream"})
        self.assertEqual(answer.status, 202)
        out = self.folder / "out"
        handler = self.script("handler", f'cat > {out}; printf "%s" "$1" > {out}.arg\n')
        done = harness.weir("work", "--queue", "q", "--drain", "--exec", handler, "$(touch y); a b", url=server.url)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(out.read_bytes(), payload)
        self.assertEqual((self.folder / "out.arg").read_text(), "$(touch y); a b")

    def test_a_timeout_ends_the_whole_process_group(self):
        server = self.server()
        pid_file = self.folder / "pid"
        handler = self.script("handler", f'sleep 600 & echo $! > {pid_file}; trap "" TERM; wait; sleep 600\n')
        job = enqueue(server.client(), timeout="1s", max_attempts=1)
        self.drain(server, handler)
        grandchild = int(pid_file.read_text())
        harness.wait_until(lambda: not alive(grandchild), "the grandchild to end")
        got = server.client().get(f"/v1/jobs/{job}?history=1").json
        self.assertEqual(got["status"], "dead")
        self.assertEqual(got["history"][0]["error"]["class"], "timeout")

    def test_the_lease_is_extended_while_the_handler_runs(self):
        server = self.server()
        job = enqueue(server.client(), lease="1s")
        handler = self.script("handler", "sleep 3\n")
        self.drain(server, handler, "--lease", "1s")
        got = server.client().get(f"/v1/jobs/{job}").json
        self.assertEqual((got["status"], got["attempts"]), ("completed", 1))

    def test_retry_after_file_sets_the_retry(self):
        server = self.server()
        job = enqueue(server.client(), retry={"delays": ["1h"], "max_attempts": 2})
        handler = self.script("handler", '[ $WEIR_ATTEMPT = 1 ] || exit 0\necho 0.2 > $WEIR_RETRY_AFTER_FILE\nexit 75\n')
        self.drain(server, handler)
        self.assertEqual(server.client().get(f"/v1/jobs/{job}").json["status"], "completed")

    def test_the_last_64_kib_of_stderr_become_the_error(self):
        server = self.server()
        job = enqueue(server.client(), max_attempts=1)
        handler = self.script("handler", 'head -c 200000 /dev/zero | tr "\\0" a >&2; echo the-end >&2; exit 1\n')
        self.drain(server, handler)
        message = server.client().get(f"/v1/jobs/{job}").json["last_error"]
        self.assertLessEqual(len(message), 65536)
        self.assertIn("the-end", message)

    def test_a_crash_loop_is_bounded_exactly(self):  # B49: the worker itself dies with each delivery
        server = self.server()
        count = self.folder / "count"
        count.write_text("")
        handler = self.script("handler", f'echo x >> {count}; kill -9 $PPID; sleep 60\n')
        job = enqueue(server.client(), lease="1s", max_attempts=3, retry={"delays": ["0s"], "max_attempts": 3})
        for _ in range(3):
            worker = self.background("work", "--queue", "q", "--lease", "1s", "--exec", handler, url=server.url)
            worker.wait(timeout=60)
        harness.wait_until(lambda: server.client().get(f"/v1/jobs/{job}").json["status"] == "dead", "its death")
        got = server.client().get(f"/v1/jobs/{job}").json
        self.assertEqual(len(count.read_text().split()), 3)
        self.assertEqual(got["attempts"], 3)
        self.assertIn("worker lost", got["reason"])


class StopTest(harness.Case):
    def test_term_finishes_what_runs_and_releases_what_does_not_end(self):  # B55
        server = self.server()
        client = server.client()
        started = self.folder / "started"
        started.mkdir()
        handler = self.script("handler", f'n=$(cat); touch {started}/$n; [ $n = 1 ] && sleep 1 || sleep 600\n')
        short = client.post("/v1/queues/q/jobs", {"payload": 1}).json["id"]
        long = client.post("/v1/queues/q/jobs", {"payload": 2}).json["id"]
        worker = self.background("work", "--queue", "q", "--grace", "3s", "--exec", handler, url=server.url)
        harness.wait_until(lambda: len(list(started.iterdir())) == 2, "both handlers to run")
        worker.send_signal(signal.SIGTERM)
        _, log = worker.communicate(timeout=60)
        self.assertEqual(worker.returncode, 0, log)
        self.assertIn("draining", log)
        self.assertIn("drained, exiting", log)
        self.assertEqual(client.get(f"/v1/jobs/{short}").json["status"], "completed")
        got = client.get(f"/v1/jobs/{long}?history=1").json
        self.assertEqual((got["status"], got["history"][0]["outcome"]), ("pending", "released"))
        self.assertEqual(len([1 for a in got["history"] if a["outcome"] != "released"]), 0, "charged for a stop")

    def test_finished_during_the_servers_stop_is_not_run_again(self):  # B55, server side
        server = self.server()
        client = server.client()
        ran = self.folder / "ran"
        handler = self.script("handler", f'echo x >> {ran}; sleep 2\n')
        job = enqueue(client)
        worker = self.background("work", "--queue", "q", "--exec", handler, url=server.url)
        harness.wait_until(ran.exists, "the handler to run")
        server.signal(signal.SIGTERM)
        self.assertEqual(server.wait(), 0, server.log())
        server.listen = server.address
        server.start()
        self.addCleanup(server.kill)
        self.assertEqual(server.client().get(f"/v1/jobs/{job}").json["status"], "completed")
        self.assertEqual(len(ran.read_text().split()), 1)
        worker.send_signal(signal.SIGTERM)
        worker.wait(timeout=60)

    def test_rolling_restarts_and_orphans_of_orphans_lose_nothing(self):  # B07
        server = self.server()
        client = server.client()
        ids = [enqueue(client, n=i, lease="1s", max_attempts=20, retry={"delays": ["0s"], "max_attempts": 20})
               for i in range(30)]
        handler = self.script("handler", "sleep 0.3\n")
        for round_number in range(4):
            worker = self.background("work", "--queue", "q", "--concurrency", "3", "--lease", "1s", "--exec", handler,
                                     url=server.url)
            harness.wait_until(lambda: client.get("/v1/queues/q").json["counts"]["processing"] > 0, "work to begin")
            worker.send_signal(signal.SIGKILL if round_number % 2 else signal.SIGTERM)
            worker.wait(timeout=60)
        done = harness.weir("work", "--queue", "q", "--concurrency", "10", "--drain", "--exec", handler, url=server.url)
        self.assertEqual(done.returncode, 0, done.stderr)
        for job in ids:
            got = client.get(f"/v1/jobs/{job}").json
            self.assertEqual(got["status"], "completed")
            self.assertLessEqual(got["attempts"], 20)

    def test_consumption_comes_back_with_the_server(self):  # B13
        server = self.server()
        handler = self.script("handler", "exit 0\n")
        worker = self.background("work", "--queue", "q", "--exec", handler, url=server.url)
        for end in (server.kill, server.stop):
            job = enqueue(server.client())
            harness.wait_until(lambda: server.client().get(f"/v1/jobs/{job}").json["status"] == "completed", "the job")
            server.listen = server.address
            end()
            server.start()
        self.addCleanup(server.kill)
        job = enqueue(server.client())
        harness.wait_until(lambda: server.client().get(f"/v1/jobs/{job}").json["status"] == "completed", "the last job",
                           seconds=20)
        self.assertIsNone(worker.poll())

    def test_drain_waits_for_retries_and_scheduled_jobs(self):
        server = self.server()
        client = server.client()
        job = enqueue(client, delay="1s")
        handler = self.script("handler", '[ $WEIR_ATTEMPT = 2 ] || exit 75\n')
        done = harness.weir("work", "--queue", "q", "--drain", "--exec", handler, url=server.url)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(client.get(f"/v1/jobs/{job}").json["status"], "completed")


class PostTest(harness.Case):
    def receiver(self, answers):
        """Answers each path by (status, headers); notes what came."""
        got = []

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                got.append((self.path, dict(self.headers), body))
                status, headers = answers[self.path].pop(0) if len(answers[self.path]) > 1 else answers[self.path][0]
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_):
                pass
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        return f"http://127.0.0.1:{server.server_port}", got

    def test_statuses_decide_and_retry_after_holds(self):
        server = self.server()
        client = server.client()
        url, got = self.receiver({"/ok": [(204, {})], "/busy": [(503, {"Retry-After": "1"}), (200, {})],
                                  "/bad": [(404, {})], "/slow": [(429, {"Retry-After": "0"}), (200, {})]})
        for path, (status, attempts) in {"/ok": ("completed", 1), "/busy": ("completed", 2), "/bad": ("dead", 1),
                                         "/slow": ("completed", 2)}.items():
            queue = path[1:]
            job = enqueue(client, queue, retry={"delays": ["1h"], "max_attempts": 3})
            done = harness.weir("work", "--queue", queue, "--drain", "--post", url + path, url=server.url)
            self.assertEqual(done.returncode, 0, done.stderr)
            found = client.get(f"/v1/jobs/{job}").json
            self.assertEqual((found["status"], found["attempts"]), (status, attempts), found)

    def test_targets_inside_the_network_are_refused_before_a_byte_is_sent(self):  # B79
        server = self.server()
        client = server.client()
        for number, url in enumerate(["http://[::ffff:7f00:1]/", "http://2130706433/", "http://0x7f.1/", "http://10.1.2.3/",
                                      "http://169.254.169.254/", "http://[fe80::1]/", "http://0/", "http://017700000001/"]):
            queue = f"q{number}"
            job = enqueue(client, queue, max_attempts=1)
            done = harness.weir("work", "--queue", queue, "--drain", "--post", url, url=server.url)
            found = client.get(f"/v1/jobs/{job}").json
            refused_at_start = done.returncode != 0
            self.assertTrue(refused_at_start or found["status"] == "dead", f"{url}: {done.stderr} {found}")


def alive(pid):
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False
