# SPDX-License-Identifier: Apache-2.0
"""The real server as a process: restarts, signals, locks, descriptors, listening rules, TLS, systemd, full disks."""
import json
import os
import resource
import signal
import socket
import ssl
import subprocess
import threading
import time

import harness


def enqueue(client, queue="q", n=0, **more):
    answer = client.post(f"/v1/queues/{queue}/jobs", {"payload": {"n": n}, **more})
    assert answer.status == 202, answer.body
    return answer.json["id"]


def claim(client, queue="q", **more):
    answer = client.post("/v1/claim", {"queues": [queue], **more})
    assert answer.status == 200, answer.body
    return answer.json["jobs"]


class RestartTest(harness.Case):
    def test_jobs_leases_history_keys_and_tokens_survive_kill_and_clean_stop(self):
        server = self.server()
        client = server.client()
        waiting = enqueue(client, n=1, unique_key="only")
        failed = enqueue(client, n=2, queue="other", retry={"base": "1h", "factor": 1, "cap": "1h", "jitter": 0.1})
        job = claim(client, "other")[0]
        client.post(f"/v1/jobs/{failed}/fail", {"lease_token": job["lease_token"], "error": {"message": "no"}})
        key = {"Idempotency-Key": "k1"}
        first = client.post("/v1/queues/q/jobs", {"payload": 1}, headers=key)
        held = claim(client, lease="60s")[0]
        for end in (server.kill, server.stop):
            end()
            server.start()
            client = server.client()
            self.assertEqual(client.get(f"/v1/jobs/{failed}?history=1").json["history"][0]["error"]["message"], "no")
            again = client.post("/v1/queues/q/jobs", {"payload": 1}, headers=key)
            self.assertEqual(again.json["id"], first.json["id"])
            self.assertEqual(again.headers["Idempotent-Replayed"], "true")
            other = client.post("/v1/queues/q/jobs", {"payload": 2}, headers=key)
            self.assertEqual(other.status, 422)
            duplicate = client.post("/v1/queues/q/jobs", {"payload": 9, "unique_key": "only"})
            self.assertEqual((duplicate.status, duplicate.json["id"], duplicate.json["duplicate"]), (200, waiting, True))
        acked = client.post(f"/v1/jobs/{held['id']}/ack", {"lease_token": held["lease_token"]})
        self.assertEqual(acked.status, 200, acked.body)
        repeated = client.post(f"/v1/jobs/{held['id']}/ack", {"lease_token": held["lease_token"]})
        self.assertEqual((repeated.status, repeated.json["status"]), (200, "completed"))

    def test_a_second_server_on_the_same_directory_leaves_with_73(self):
        server = self.server()
        second = subprocess.run([harness.BINARY, "serve", "--data", server.data, "--listen", "127.0.0.1:0",
                                 "--probe-listen", ""], capture_output=True, text=True, timeout=60)
        self.assertEqual(second.returncode, 73, second.stderr)
        self.assertIn(str(server.process.pid), second.stderr)
        server.kill()
        server.start()  # a lock left by kill -9 does not block

    def test_ids_never_repeat_over_crashes_and_epochs_grow(self):
        server, seen, epochs = self.server(start=False), set(), []
        for _ in range(5):
            server.start()
            client = server.client()
            ids = {enqueue(client, n=i) for i in range(20)}
            self.assertFalse(ids & seen)
            seen |= ids
            epochs.append(client.get("/v1/info").json["epoch"])
            server.kill()
        self.assertEqual(epochs, sorted(set(epochs)))

    def test_fences_grow_over_restarts(self):
        server = self.server()
        job = enqueue(server.client(), lease="1s", retry={"delays": ["0s"], "max_attempts": 5})
        fences = []
        for _ in range(3):
            got = []
            harness.wait_until(lambda: got or got.extend(claim(server.client(), wait="5s", lease="1s")), "a claim", 90)
            fences.append(got[0]["fence"])
            server.client().post(f"/v1/jobs/{job}/release", {"lease_token": got[0]["lease_token"]})
            server.kill()
            server.start()
        self.addCleanup(server.kill)
        self.assertEqual(fences, sorted(set(fences)))


class StopTest(harness.Case):
    def test_term_serves_acks_and_refuses_claims_until_the_leases_are_gone(self):
        server = self.server()
        client, other = server.client(), server.client()
        job = enqueue(client)
        enqueue(client)
        held = claim(client)[0]
        client.get("/livez"), other.get("/livez")  # both connections are open before the signal
        server.signal(signal.SIGTERM)
        harness.wait_until(lambda: any('"draining"' in line for line in server.lines), "draining in the log")
        refused = client.post("/v1/claim", {"queues": ["q"]})
        self.assertEqual((refused.status, refused.code), (503, "unavailable"))
        self.assertTrue(refused.headers["Retry-After"])
        self.assertEqual(client.post("/v1/queues/q/jobs", {"payload": 1}).status, 503)
        self.assertEqual(other.post(f"/v1/jobs/{job}/extend", {"lease_token": held["lease_token"], "lease": "30s"}).status, 200)
        self.assertIsNone(server.process.poll())
        self.assertEqual(other.post(f"/v1/jobs/{job}/ack", {"lease_token": held["lease_token"]}).status, 200)
        self.assertEqual(server.wait(), 0, server.log())
        self.assertIn("drained, exiting", server.log())
        server.start()
        self.addCleanup(server.kill)
        self.assertEqual(server.client().get(f"/v1/jobs/{job}").json["status"], "completed")
        self.assertEqual([j["payload"] for j in claim(server.client())], [{"n": 0}])

    def test_waiting_polls_are_answered_when_the_server_drains(self):
        server = self.server()
        answers = []
        poll = threading.Thread(target=lambda: answers.append(
            server.client().post("/v1/claim", {"queues": ["none"], "wait": "60s"}).status))
        poll.start()
        harness.wait_until(lambda: 'weir_demands_waiting 1' in server.client().get("/metrics").body.decode()
                           or time.sleep(0.2), "the poll to stand")
        enqueue(server.client())
        claim(server.client())  # a lease keeps the server draining
        server.signal(signal.SIGTERM)
        poll.join(timeout=30)
        self.assertEqual(answers, [503])

    def test_a_second_signal_stops_at_once_and_nothing_is_lost(self):
        for number, code in ((signal.SIGTERM, 143), (signal.SIGINT, 130)):
            server = self.server(data=f"data{code}")
            job = enqueue(server.client())
            claim(server.client())
            server.signal(number)
            harness.wait_until(lambda: any('"draining"' in line for line in server.lines), "draining")
            server.signal(number)
            self.assertIn(server.wait(), (code, code - 256, -number))
            server.start()
            self.assertEqual(server.client().get(f"/v1/jobs/{job}").json["status"], "processing")
            server.kill()

    def test_systemd_is_told_ready_and_stopping(self):
        path = str(self.folder / "notify")
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        listener.bind(path)
        listener.settimeout(30)
        self.addCleanup(listener.close)
        server = self.server(environment={"NOTIFY_SOCKET": path})
        self.assertIn("READY=1", listener.recv(4096).decode())
        self.assertEqual(server.stop(), 0)
        self.assertIn("STOPPING=1", listener.recv(4096).decode())


class ListenTest(harness.Case):
    def refused(self, *arguments):
        done = subprocess.run([harness.BINARY, "serve", "--data", str(self.folder / "d"), "--probe-listen", "", *arguments],
                              capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 78, done.stderr)
        return done.stderr

    def test_beyond_loopback_needs_tokens_and_tls(self):
        self.assertIn("no token is set", self.refused("--listen", "0.0.0.0:0"))
        config = self.folder / "weir.toml"
        config.write_text('[server]\ntokens = "required"\n')
        self.assertIn("without TLS", self.refused("--listen", "0.0.0.0:0", "--config", str(config)))

    def test_bad_configuration_names_file_line_and_key(self):
        config = self.folder / "weir.toml"
        config.write_text('[server]\nlistne = "x"\n')
        said = self.refused("--listen", "127.0.0.1:0", "--config", str(config))
        self.assertIn("weir.toml:2: server.listne: unknown key listne; did you mean listen?", said)

    def test_required_tokens_print_one_admin_token_once(self):
        config = self.folder / "weir.toml"
        config.write_text('[server]\ntokens = "required"\n')
        server = self.server("--config", str(config))
        shown = [line for line in server.lines if "first admin token" in line]
        self.assertEqual(len(shown), 1)
        token = shown[0].rsplit(" ", 1)[1]
        self.assertEqual(server.client().get("/v1/queues").status, 401)
        self.assertEqual(server.client(token).get("/v1/queues").status, 200)
        server.stop()
        server.lines.clear()
        server.start()
        self.assertFalse([line for line in server.lines if "first admin token" in line])
        self.assertEqual(server.client(token).get("/v1/queues").status, 200)

    def test_tls_serves_and_reloads_its_certificate_on_hup(self):
        def certificate(name):
            subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", self.folder / "key.pem",
                            "-out", self.folder / "cert.pem", "-days", "2", "-subj", f"/CN={name}",
                            "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"], check=True, capture_output=True)
        certificate("one")
        config = self.folder / "weir.toml"
        config.write_text(f'[server]\ntls_cert = "{self.folder}/cert.pem"\ntls_key = "{self.folder}/key.pem"\n')
        server = self.server("--config", str(config))

        def subject():
            host, port = server.address.rsplit(":", 1)
            context = ssl.create_default_context(cafile=str(self.folder / "cert.pem"))
            with socket.create_connection((host, int(port)), timeout=30) as raw:
                with context.wrap_socket(raw, server_hostname="127.0.0.1") as tls:
                    return dict(x[0] for x in tls.getpeercert()["subject"])["commonName"]
        self.assertEqual(subject(), "one")
        done = harness.weir("enqueue", "q", '{"a":1}', "--ca", self.folder / "cert.pem", url=f"https://{server.address}")
        self.assertEqual(done.returncode, 0, done.stderr)
        certificate("two")
        server.signal(signal.SIGHUP)
        harness.wait_until(lambda: any('"reloaded"' in line for line in server.lines), "the reload")
        self.assertEqual(subject(), "two")


class ResourceTest(harness.Case):
    def test_no_descriptors_left_neither_ends_nor_spins_and_serves_again(self):  # B59
        def limit():
            resource.setrlimit(resource.RLIMIT_NOFILE, (100, 100))
        server = self.server(preexec=limit)
        client = server.client()
        enqueue(client)
        host, port = server.address.rsplit(":", 1)
        held = []
        for _ in range(400):
            s = socket.socket()
            s.setblocking(False)
            s.connect_ex((host, int(port)))
            held.append(s)
        self.assertEqual(client.get("/v1/queues/q").status, 200)  # connected before: still served
        enqueue(client)                                          # and the store still writes

        def cpu_ticks():
            fields = open(f"/proc/{server.process.pid}/stat").read().rsplit(")", 1)[1].split()
            return int(fields[11]) + int(fields[12])
        before = cpu_ticks()
        time.sleep(2)  # what it burns while it can accept nothing
        burnt = (cpu_ticks() - before) / os.sysconf("SC_CLK_TCK") / 2
        self.assertLess(burnt, 0.2, "a busy loop")
        for s in held:
            s.close()

        def fresh_status():
            try:  # one that came just before the descriptors were free may still be turned away
                return server.client().get("/livez").status
            except OSError:
                return None
        self.assertEqual(harness.wait_until(fresh_status, "a new connection"), 200)
        self.assertIsNone(server.process.poll())

    def test_a_full_store_refuses_jobs_lets_work_go_on_and_recovers(self):
        config = self.folder / "weir.toml"
        config.write_text('[server]\ndisk_max = "160MiB"\n[defaults]\ncompleted_max = 0\n')
        server = self.server("--config", str(config))
        client = server.client()
        payload = "x" * 900_000
        accepted = []
        refusal = None
        for _ in range(400):
            answer = client.post("/v1/queues/q/jobs", {"payload": payload})
            if answer.status != 202:
                refusal = answer
                break
            accepted.append(answer.json["id"])
        self.assertIsNotNone(refusal, "the quota never filled")
        self.assertEqual((refusal.status, refusal.code), (507, "store_full"))
        done = 0
        while True:
            jobs = claim(client, max=5)
            if not jobs:
                break
            for job in jobs:
                self.assertEqual(client.post(f"/v1/jobs/{job['id']}/ack", {"lease_token": job["lease_token"]}).status, 200)
                done += 1
        self.assertEqual(done, len(accepted))
        harness.wait_until(lambda: client.post("/v1/queues/q/jobs", {"payload": payload}).status == 202,
                           "room for new jobs", seconds=60)

    def test_probes_answer_on_their_own_port(self):
        server = self.server()
        for path in ("/livez", "/readyz", "/metrics"):
            self.assertEqual(harness.Client(server.probe_address).get(path).status, 200)


class BackupTest(harness.Case):
    def test_a_backup_of_a_running_server_is_one_cut_and_restores_with_new_leases(self):
        server = self.server()
        client = server.client()
        ids = [enqueue(client, n=i) for i in range(50)]
        held = claim(client)[0]
        target = self.folder / "backup"
        done = harness.weir("store", "backup", str(target), url=server.url)
        self.assertEqual(done.returncode, 0, done.stderr)
        later = enqueue(client, n=99)
        server.kill()
        restored = self.folder / "restored"
        done = harness.weir("store", "restore", str(target), str(restored))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(harness.weir("store", "verify", str(restored)).returncode, 0)
        second = self.server(data="restored")
        client = second.client()
        for job in ids:
            self.assertEqual(client.get(f"/v1/jobs/{job}").status, 200)
        self.assertEqual(client.get(f"/v1/jobs/{later}").status, 404)
        stale = client.post(f"/v1/jobs/{held['id']}/ack", {"lease_token": held["lease_token"]})
        self.assertEqual((stale.status, stale.code), (409, "lease_lost"))
        fresh = enqueue(client, n=100)
        self.assertGreater(int(fresh), int(later))

    def test_verify_names_damage(self):
        server = self.server()
        for i in range(300):
            enqueue(server.client(), n=i)
        server.stop()
        segments = sorted(p for p in (self.folder / "data").iterdir() if p.stat().st_size > 1 << 20)
        self.assertTrue(segments)
        for path in segments:
            data = bytearray(path.read_bytes())
            at = data.find(b'"n":150')
            if at < 0:
                at = data.find(b'{"n":')
            if at >= 0:
                data[at] ^= 1
                path.write_bytes(bytes(data))
        done = harness.weir("store", "verify", server.data, "--json")
        self.assertNotEqual(done.returncode, 0, done.stdout)
        self.assertTrue(json.loads(done.stdout)["problems"], done.stdout)
