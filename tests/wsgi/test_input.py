"""wsgi.input: ends, lines, sizes, faults of clients."""
import os
import re
import socket
import struct
import time
import threading
import unittest

from client import Connection, chunk, fetch, request
from server import Case, Server, SLOW, has


class Input(Case):
    BODY = b'ab\ncd\n\nef'
    RIGHT = [
        b'ab\ncd\n\nef', b'ab\ncd\n\nef', b'ab\ncd\n\nef', b'ab\ncd\n\nef',
        b'', b'ab\n', b'ab', b'ab\n', [b'ab\n', b'cd\n', b'\n', b'ef'],
        [b'ab\n'], b'ab\n', b'ab\n', b'', [b'ab\n', b'cd\n', b'\n', b'ef'],
        b'ab\ncd\n\nef', b'ab\n']

    def test_every_call_ends_at_the_end(self):
        """E06"""
        for chunked in (False, True):
            for i, right in enumerate(self.RIGHT):
                with self.subTest(i, chunked=chunked):
                    with Connection(self.server) as c:
                        r = c.request('POST', '/%d' % i, self.BODY,
                                      [('X-App', 'calls')], chunked)
                        taken = right if isinstance(right, bytes) else \
                            b''.join(right)
                        rest = self.BODY[len(taken):]
                        self.assertEqual(r.body.decode(), '%r then %r%r%r' % (
                            right, rest, b'', b''))
                        # and the connection is in step
                        r = c.request('GET', '/', headers=[
                            ('X-App', 'deaf')])
                        self.assertEqual(r.body, b'ok\n')

    def test_no_body(self):
        for i, name in enumerate(self.RIGHT):
            r = fetch(self.server, 'GET', '/%d' % i, headers=[
                ('X-App', 'calls')])
            self.assertEqual(r.status, 200 if i != 10 else 500)

    def test_bad_arguments(self):
        r = fetch(self.server, 'POST', '/', b'abc', [('X-App', 'bad_calls')])
        self.assertEqual(r.body.split(), [b'refused'] * 7)

    def test_tiny_chunks(self):
        """E07, and a byte at a time over the network."""
        data = b'line one\nline two\n'
        body = b''.join(chunk(bytes([b])) for b in data) + b'0\r\n\r\n'
        head = (b'POST / HTTP/1.1\r\nHost: t\r\nX-App: lines\r\n'
                b'Transfer-Encoding: chunked\r\n\r\n')
        with Connection(self.server) as c:
            c.send(head + body)
            self.assertEqual(c.response().body,
                             b"[b'line one\\n', b'line two\\n']")
            for piece in re.findall(b'.', head + body, re.S):
                c.send(piece)
            self.assertEqual(c.response().body,
                             b"[b'line one\\n', b'line two\\n']")

    def test_mixed_reads(self):
        data = b''.join(b'%d %s\n' % (i, b'y' * (i * 7 % 300))
                        for i in range(3000))
        for chunked in (False, True):
            r = fetch(self.server, 'POST', '/', data, [('X-App', 'mixed')],
                      chunked)
            self.assertTrue(r.body == data)

    def test_large_chunks(self):
        data = os.urandom(1 << 20)
        for size in (1 << 16, (1 << 16) + 1, 1 << 19):
            parts = b''.join(chunk(data[i:i + size])
                             for i in range(0, len(data), size))
            with Connection(self.server) as c:
                c.send(b'POST / HTTP/1.1\r\nHost: t\r\nX-App: echo\r\n'
                       b'Transfer-Encoding: chunked\r\n\r\n' + parts +
                       b'0\r\n\r\n')
                self.assertEqual(c.response().json()['body'], data.hex())

    def measure(self, path, data, chunked=False):
        r = fetch(self.server, 'POST', path, data, [('X-App', 'measure')],
                  chunked)
        total, pieces, seconds, peak = r.json()
        self.assertEqual(total, len(data))
        return pieces, seconds, peak

    def test_long_lines_are_linear(self):
        """F05"""
        mega = 4 if SLOW else 16
        for line in (b'x' * (1 << 20), b'y' * 39 + b'\n'):
            data = line * (mega * (1 << 20) // len(line))
            for path in ('/readline', '/iterate'):
                half = self.measure(path, data[:len(data) // 2])[1]
                pieces, seconds, _ = self.measure(path, data)
                self.assertLess(seconds, 5 if SLOW else 1)
                self.assertLess(seconds, 4 * half + 0.1)
                if line[-1:] == b'\n':
                    self.assertEqual(pieces, len(data) // 40)
                elif path == '/readline':
                    self.assertEqual(pieces, len(data) // 65536)
                else:
                    self.assertEqual(pieces, 1)

    def test_memory_of_a_stream(self):
        """F03: reading in blocks needs no more than the blocks."""
        _, _, before = self.measure('/blocks', b'x' * 1000)
        for chunked in (False, True):
            for path, mega in (('/blocks', 64), ('/small', 8)):
                _, _, after = self.measure(path, b'x' * (mega << 20), chunked)
                # the sanitizer keeps what was freed for a while
                self.assertLess(after - before, 4096 if not SLOW else 1 << 18)

    def test_many_small_chunks(self):
        """F03: the cost of a byte does not depend on the body's size."""
        for path in ('/read', '/blocks', '/iterate'):
            half = None
            for mega in (1, 2):
                body = chunk(b'y' * 15 + b'\n') * (mega << 16)
                with Connection(self.server) as c:
                    c.send(request('POST', path, headers=[
                        ('X-App', 'measure'), ('Transfer-Encoding',
                                               'chunked')]) + body +
                           b'0\r\n\r\n')
                    total, _, seconds, _ = c.response().json()
                self.assertEqual(total, mega << 20)
                self.assertLess(seconds, 8 if SLOW else 2)
                self.assertLess(seconds, 4 * (half or seconds) + 0.1)
                half = seconds

    def test_expect(self):
        """P13: asked for when the application reads, not before."""
        head = (b'POST / HTTP/1.1\r\nHost: t\r\nContent-Length: 3\r\n'
                b'Expect: 100-Continue\r\nX-App: %s\r\n\r\n')
        with Connection(self.server) as c:
            c.send(head % b'echo')
            self.assertEqual(c.until(b'\r\n\r\n'), b'HTTP/1.1 100 Continue')
            c.send(b'abc')
            self.assertEqual(c.response().json()['body'], b'abc'.hex())
        with Connection(self.server) as c:
            c.send(head % b'deaf')
            r = c.response()
            self.assertEqual((r.status, r.interim), (200, []))

    def test_answer_to_an_unread_body_is_whole(self):
        """P12: the client takes its time, and no reset destroys the rest."""
        for close, chunked in (True, False), (False, True):
            fields = [('X-App', 'one')] + [('Connection', 'close')] * close
            with Connection(self.server, rcvbuf=4096) as c:
                c.send(request('POST', '/?1048576', b'x' * 262144, fields,
                               chunked))
                while len(c.data) < 1 << 20:
                    some = c.sock.recv(4096)
                    self.assertTrue(some)
                    c.data += some
                    time.sleep(0.002)
                self.assertEqual(len(c.response().body), 1 << 20)

    def test_two_threads(self):
        data = b''.join(b'%06d\n' % i for i in range(20000))
        r = fetch(self.server, 'POST', '/', data, [
            ('X-App', 'threaded_read')])
        self.assertTrue(r.body == data)
        r = fetch(self.server, 'POST', '/', data, [('X-App', 'event_loop')])
        self.assertTrue(r.body == data)
        with Connection(self.server) as c:
            c.send(request('POST', '/', b'', [
                ('X-App', 'torn_read')]).replace(
                    b'Content-Length: 0', b'Content-Length: %d' % len(data)))
            for i in range(0, len(data), 10007):
                c.send(data[i:i + 10007])
            self.assertTrue(c.response().body == data)


class Faults(Case):
    KEYS = {'body_timeout': '300ms', 'request_body': '1m'}

    def broken(self, rest, expected, app='catches', path='/read', end=None):
        """Send half a request; what the application saw."""
        before = self.server.log().count(expected)
        with Connection(self.server) as c:
            c.send(b'POST %s HTTP/1.1\r\nHost: t\r\nX-App: %s\r\n' % (
                path.encode(), app.encode()) + rest)
            if end == 'reset':
                c.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER,
                                  struct.pack('ii', 1, 0))
                c.close()
                answer = b''
            else:
                if end == 'half-close':
                    c.sock.shutdown(socket.SHUT_WR)
                answer = c.all()
        self.server.wait_log(expected, before + 1)
        ok = fetch(self.server, 'GET', '/', headers=[('X-App', 'deaf')])
        self.assertEqual(ok.body, b'ok\n')
        return answer[:12]

    def test_the_client_leaves(self):
        for path in ('/read', '/lines'):
            for rest in (b'Content-Length: 10\r\n\r\nabc',
                         b'Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n'):
                for end in ('half-close', 'reset'):
                    with self.subTest(path, rest=rest, end=end):
                        self.broken(
                            rest, 'caught narwhal ClientDisconnected errno=104'
                            ' client=True', path=path, end=end)
        self.server.wait_log('again ClientDisconnected')

    def test_the_client_stalls(self):
        for path in ('/read', '/lines'):
            answer = self.broken(
                b'Content-Length: 10\r\n\r\nabc',
                'caught narwhal ClientTimeout errno=110', path=path)
            self.assertEqual(answer, b'HTTP/1.1 408')

    def test_the_framing_breaks(self):
        for path in ('/read', '/lines'):
            answer = self.broken(
                b'Transfer-Encoding: chunked\r\n\r\n3\r\nabcd\r\n0\r\n\r\n',
                'caught narwhal BadBody errno=71', path=path)
            self.assertEqual(answer, b'HTTP/1.1 400')

    def test_too_large(self):
        body = b'100000\r\n' + b'x' * (1 << 20) + b'\r\n1\r\nx\r\n0\r\n\r\n'
        answer = self.broken(b'Transfer-Encoding: chunked\r\n\r\n' + body,
                             'caught narwhal BadBody errno=27')
        self.assertEqual(answer, b'HTTP/1.1 413')

    def test_not_caught(self):
        """No traceback: it is nobody's mistake on this side."""
        answer = self.broken(
            b'Transfer-Encoding: chunked\r\n\r\nx\r\n', 'POST /read: the req',
            app='uncaught')
        self.assertEqual(answer, b'HTTP/1.1 400')
        self.broken(b'Content-Length: 10\r\n\r\nabc', 'POST /read: the req',
                    app='uncaught', end='reset')
        self.assertNotIn('Traceback', self.server.log())


class Blocks(unittest.TestCase):
    def check(self, app, path, name):
        """read() asks for a block, and receives into one object."""
        with Server(app, input_block_size='64k', wrapper=[
                'strace', '-f', '-o', '/dev/stderr', '-e',
                'trace=recvfrom,recvmsg,read,mmap']) as s:
            # So large that malloc maps it, whatever a worker keeps.
            data = b'x' * (136 << 20)
            r = fetch(s, 'POST', path, data, [('X-App', name)])
            self.assertIn(b'%d' % len(data), r.body)
            log = s.log()
        asked = [int(n) for n in re.findall(
            r'recv(?:from|msg)\(.*?(?:iov_len=|", |, )(\d{4,})', log)]
        self.assertLessEqual(max(asked), 65536)
        self.assertGreaterEqual(sorted(asked)[len(asked) // 2], 16384)
        large = [int(n) for n in re.findall(
            r'mmap\(NULL, (\d{7,}), PROT_READ\|PROT_WRITE, '
            r'MAP_PRIVATE\|MAP_ANONYMOUS', log)
            if len(data) <= int(n) < len(data) + 65536]
        self.assertEqual(len(large), 1, large)

    def test_read(self):
        self.check('cases:app', '/read', 'measure')

    def test_flask(self):
        if not has('flask'):
            self.skipTest('no Flask')
        self.check('flask_site:app', '/data', '')


class Threads(Case):
    """E01: the interpreter lock is free whenever the worker waits."""

    def count(self, path='/', body=None):
        return int(fetch(self.server, 'POST', path, body, [
            ('X-App', 'background')]).body)

    def grows(self, meanwhile):
        before = self.count()
        meanwhile()
        return self.count() - before

    def test_counts_while_waiting(self):
        pause = threading.Event()
        self.count()

        def idle():
            pause.wait(1)

        def silent():
            with Connection(self.server):
                pause.wait(1)

        def slow_upload():
            with Connection(self.server) as c:
                c.send(request('POST', '/read', b'', [
                    ('X-App', 'background')]).replace(
                        b'Content-Length: 0', b'Content-Length: 3'))
                for b in (b'a', b'b', b'c'):
                    pause.wait(0.4)
                    c.send(b)
                c.response()

        def slow_download():
            with Connection(self.server, rcvbuf=4096) as c:
                c.send(request('GET', '/slow', None, [
                    ('X-App', 'background')]))
                c.head()
                pause.wait(1)
        for meanwhile in (idle, silent, slow_upload, slow_download):
            with self.subTest(meanwhile.__name__):
                self.assertGreaterEqual(self.grows(meanwhile), 8)


del Case
