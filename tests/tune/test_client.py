"""The request on the wire, and which responses count."""
import select
import socket
import tempfile
import threading
import unittest

from tune.client import (Body, Client, Request, body_of_file, body_of_size,
                         parse_url)
from tune.stop import Failed


class Idle:
    """No signal ever comes."""

    def poller(self):
        return select.poll()

    def wait(self, poller, seconds):
        return poller.poll(seconds * 1000)


def requests(body=None, method='POST', fields=(), port=1):
    addresses, host, target = parse_url('http://127.0.0.1:%d/a?b' % port)
    return Request(addresses, host, method, target, list(fields), body)


class Wire(unittest.TestCase):
    def test_head(self):
        self.assertEqual(
            requests(Body(b'xyz'), fields=[('A', 'b')]).head,
            b'POST /a?b HTTP/1.1\r\nHost: 127.0.0.1:1\r\nA: b\r\n'
            b'Content-Length: 3\r\nConnection: close\r\n\r\n')
        self.assertEqual(
            requests(method='GET', fields=[('Host', 'x')]).head,
            b'GET /a?b HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n')

    def test_bodies(self):
        for body in (body_of_size(0), body_of_size(3000001), Body(b'ab', 5)):
            parts, sent = [], 0
            while sent < len(body):
                parts.append(bytes(body.view(sent)))
                sent += len(parts[-1])
            self.assertEqual(sent, len(body))
        self.assertEqual(b''.join(parts), b'ababa')
        for data in (b'', b'from a file'):
            with tempfile.NamedTemporaryFile() as f:
                f.write(data)
                f.flush()
                body = body_of_file(f.name)
                self.assertEqual(bytes(body.view(0)), data)


class Answers(unittest.TestCase):
    """A server that says what it is told and closes."""

    def ask(self, answer, method='POST', body=None, read=1 << 30):
        with socket.create_server(('127.0.0.1', 0)) as listener:
            def serve():
                c, _ = listener.accept()
                with c:
                    c.settimeout(20)
                    have = b''
                    while len(have) < read and not have.endswith(b'END'):
                        have += c.recv(65536)
                    c.sendall(answer)
                    self.seen = have
            thread = threading.Thread(target=serve)
            thread.start()
            try:
                return Client(Idle()).fetch(requests(
                    body or Body(b'END'), method,
                    port=listener.getsockname()[1]))
            finally:
                thread.join()

    def fails(self, why, *args, **more):
        with self.assertRaisesRegex(Failed, why):
            self.ask(*args, **more)

    def test_whole(self):
        for answer, n in (
                (b'HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc', 3),
                (b'HTTP/1.1 200 OK\r\n\r\nabcd', 4),
                (b'HTTP/1.1 201 OK\r\nTransfer-Encoding: chunked\r\n\r\n'
                 b'2\r\nab\r\n0\r\n\r\n', 12),
                (b'HTTP/1.1 103 Early\r\nA: b\r\n\r\n'
                 b'HTTP/1.1 204 No Content\r\n\r\n', 0)):
            reply = self.ask(answer)
            self.assertEqual(reply.length, n)
            self.assertGreater(reply.seconds, 0)
        self.ask(b'HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n', 'HEAD')

    def test_cut(self):
        for answer in (
                b'', b'HTTP/1.1 200 OK\r\n',
                b'HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nab',
                b'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n'
                b'2\r\nab\r\n'):
            self.fails('was cut', answer)

    def test_status(self):
        self.fails('POST /a.b was answered with 500',
                   b'HTTP/1.1 500 X\r\nContent-Length: 0\r\n\r\n')

    def test_an_answer_before_the_body_was_read(self):
        """Reset or not, it is not taken for a success."""
        self.fails('answered with 413|reset', b'HTTP/1.1 413 X\r\n\r\n',
                   body=body_of_size(50000000), read=1)
