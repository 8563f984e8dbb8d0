# SPDX-License-Identifier: Apache-2.0
"""The beanstalkd door of the real server, spoken to as its clients do: plain bytes over a socket."""
import json
import socket

import harness


class Tube:
    """One connection. Reads answers as the protocol has them; one thread."""

    def __init__(self, address):
        host, port = address.rsplit(":", 1)
        self.socket = socket.create_connection((host, int(port)), timeout=harness.CALL_SECONDS_MAX)
        self.file = self.socket.makefile("rb")

    def send(self, text):
        self.socket.sendall(text if isinstance(text, bytes) else text.encode())

    def line(self):
        return self.file.readline().decode().rstrip("\r\n")

    def ask(self, text):
        self.send(text)
        return self.line()

    def body(self, line):
        size = int(line.split()[-1])
        return self.file.read(size + 2)[:-2]

    def put(self, body, priority=0, delay=0, ttr=60):
        answer = self.ask(f"put {priority} {delay} {ttr} {len(body)}\r\n".encode() + body + b"\r\n")
        assert answer.startswith("INSERTED "), answer
        return int(answer.split()[1])

    def reserve(self, seconds=10):
        answer = self.ask(f"reserve-with-timeout {seconds}\r\n")
        if not answer.startswith("RESERVED "):
            return answer
        return int(answer.split()[1]), self.body(answer)

    def close(self):
        self.file.close()
        self.socket.close()


class BeanstalkTest(harness.Case):
    def beanstalk_server(self):
        config = self.folder / "weir.toml"
        config.write_text('[doors]\nbeanstalk = "127.0.0.1:0"\n')
        return self.server("--config", config)

    def tube(self, server):
        for line in server.lines:
            address = json.loads(line).get("beanstalk_address") if line.startswith("{") else None
            if address:
                tube = Tube(address)
                self.addCleanup(tube.close)
                return tube
        raise AssertionError("no beanstalk address in the log:\n" + server.log())

    def test_a_job_lives_its_life_and_is_gone(self):
        server = self.beanstalk_server()
        tube = self.tube(server)
        self.assertEqual(tube.ask("use mails\r\n"), "USING mails")
        self.assertEqual(tube.ask("watch mails\r\n"), "WATCHING 2")
        late, urgent = tube.put(b"late", priority=9), tube.put(b"\x00\xff urgent", priority=1)
        self.assertEqual(tube.reserve(), (urgent, b"\x00\xff urgent"))
        self.assertEqual(tube.ask(f"delete {urgent}\r\n"), "DELETED")
        self.assertEqual(tube.ask(f"delete {urgent}\r\n"), "NOT_FOUND")
        self.assertEqual(tube.reserve(), (late, b"late"))
        self.assertEqual(tube.ask(f"bury {late} 0\r\n"), "BURIED")
        self.assertEqual(tube.reserve(0), "TIMED_OUT")
        self.assertEqual(tube.ask("kick 10\r\n"), "KICKED 1")
        self.assertEqual(tube.reserve(), (late, b"late"))
        self.assertEqual(server.client().get("/v1/queues/mails").status, 200)
        self.assertEqual(server.client().get(f"/v1/jobs/{late}").json["status"], "processing")

    def test_pipelined_commands_are_answered_in_order(self):
        tube = self.tube(self.beanstalk_server())
        count = 200
        tube.send(b"".join(b"put 0 0 60 3\r\n%03d\r\n" % n for n in range(count)))
        ids = [int(tube.line().split()[1]) for _ in range(count)]
        self.assertEqual(ids, sorted(ids))
        tube.send(b"reserve\r\n" * count)
        for n in range(count):
            answer = tube.line()
            self.assertEqual((int(answer.split()[1]), tube.body(answer)), (ids[n], b"%03d" % n))
        tube.send(b"".join(b"delete %d\r\n" % number for number in ids))
        self.assertEqual({tube.line() for _ in range(count)}, {"DELETED"})

    def test_a_connection_that_ends_gives_back_what_it_held(self):
        server = self.beanstalk_server()
        first, second = self.tube(server), self.tube(server)
        number = first.put(b"job")
        self.assertEqual(first.reserve(), (number, b"job"))
        self.assertEqual(second.ask(f"delete {number}\r\n"), "NOT_FOUND")
        first.close()
        self.assertEqual(second.reserve(60), (number, b"job"))

    def test_answered_puts_and_deletes_survive_kill(self):
        server = self.beanstalk_server()
        tube = self.tube(server)
        kept, gone = tube.put(b"kept"), tube.put(b"gone", priority=0)
        self.assertEqual(tube.reserve()[0], kept)
        self.assertEqual(tube.reserve()[0], gone)
        self.assertEqual(tube.ask(f"delete {gone}\r\n"), "DELETED")
        server.kill()
        server.lines.clear()
        server.start()
        self.addCleanup(server.kill)
        again = self.tube(server)
        self.assertEqual(again.reserve(60), (kept, b"kept"))
        self.assertEqual(again.reserve(0), "TIMED_OUT")

    def test_bad_input_gets_the_protocols_word_and_the_connection_goes_on(self):
        tube = self.tube(self.beanstalk_server())
        self.assertEqual(tube.ask("nonsense\r\n"), "UNKNOWN_COMMAND")
        self.assertEqual(tube.ask("put a b c d\r\n"), "BAD_FORMAT")
        self.assertEqual(tube.ask(b"put 0 0 60 70000\r\n" + b"x" * 70000 + b"\r\n"), "JOB_TOO_BIG")
        self.assertEqual(tube.ask("use -bad\r\n"), "BAD_FORMAT")
        self.assertEqual(tube.ask("ignore default\r\n"), "NOT_IGNORED")
        self.assertEqual(tube.put(b"good"), tube.reserve()[0])
