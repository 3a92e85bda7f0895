"""What an application returns: iterables, close(), files, streams."""
import socket
import struct
import time
import unittest

from client import Connection, fetch, wait_until
from server import Case, Server, SLOW


class Iterable(Case):
    def fetch(self, name, target='/', method='GET', **more):
        return fetch(self.server, method, target, headers=[('X-App', name)],
                     **more)

    def closed(self):
        return int(self.fetch('closing', '/count').body)

    def test_kinds(self):
        """R10: empty items are no end."""
        for kind in ('list', 'tuple', 'iter', 'generator', 'map'):
            for parts in (',abc,,def,', 'abc', '', ',', 'a,b'):
                with Connection(self.server) as c:
                    for _ in range(2):
                        r = c.request('GET', '/%s?%s' % (kind, parts),
                                      headers=[('X-App', 'items')])
                        self.assertEqual(r.status, 200)
                        self.assertEqual(r.body.decode(),
                                         parts.replace(',', ''))
                        self.assertTrue(r.complete)

    def test_no_request_waits_for_an_ack(self):
        """F01: else each but the first takes the 40 ms of a delayed one."""
        for chunks in (16, 0):      # with 0 each item is sent by itself
            with Server('cases:app', outgoing_body_buffer_chunks=chunks) as s:
                for name, target in (
                        ('one', '/?13'), ('one', '/?1461'),
                        ('items', '/list?a,b'), ('items', '/generator?a,b'),
                        ('files', '/named')):
                    took = sorted(self.fifty(s, name, target))
                    self.assertLess(took[25], 0.02 if SLOW else 0.005, target)
                    self.assertLess(took[40], 0.035, target)

    def fifty(self, s, name, target):
        """On one connection; the seconds of each."""
        with Connection(s) as c:
            for _ in range(50):
                began = time.monotonic()
                c.request('GET', target, headers=[('X-App', name)])
                yield time.monotonic() - began

    def test_one_item_has_a_length(self):
        for size in (0, 1, 100, 1 << 16, 3 << 20):
            with Connection(self.server) as c:
                r = c.request('GET', '/?%d' % size, headers=[
                    ('X-App', 'one')])
                self.assertEqual(r.get('Content-Length'), str(size))
                self.assertEqual(r.body, b'x' * size)

    def test_large_items(self):
        for count, size in ((5, 100000), (100, 4096), (300, 4095),
                            (2, 3 << 20), (2000, 10)):
            r = self.fetch('big', '/?%d,%d' % (count, size))
            expected = b''.join(bytes([65 + i % 26]) * size
                                for i in range(count))
            self.assertTrue(r.body == expected, (count, size, len(r.body)))

    def test_items_that_are_no_bytes(self):
        for path in ('/str', '/mixed', '/bytearray', '/int', '/text'):
            with self.subTest(path):
                r = self.fetch('strings', path)
                if path == '/mixed':
                    self.assertFalse(r.complete)
                else:
                    self.assertEqual(r.status, 500)
        self.server.wait_log("must be bytes, not str: 'text'")

    def test_close_on_every_path(self):
        """R06"""
        for path, method, status in (
                ('/ok', 'GET', 200), ('/ok', 'HEAD', 200),
                ('/none', 'GET', 200), ('/err', 'GET', 200),
                ('/early', 'GET', 500), ('/outer', 'GET', 200),
                ('/str', 'GET', 200), ('/big', 'HEAD', 200)):
            with self.subTest(path, method=method):
                before = self.closed()
                r = self.fetch('closing', path, method)
                self.assertEqual(r.status, status)
                self.assertEqual(self.closed(), before + 1)

    def test_close_when_the_client_leaves(self):
        """R06"""
        for reset in (False, True):
            before = self.closed()
            with Connection(self.server, rcvbuf=4096) as c:
                c.send(b'GET /big HTTP/1.1\r\nHost: t\r\nX-App: closing\r\n'
                       b'\r\n')
                c.exactly(10)
                if reset:
                    c.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER,
                                      struct.pack('ii', 1, 0))
            self.assertEqual(self.closed(), before + 1)

    def test_close_that_fails(self):
        r = self.fetch('closing', '/bad')
        self.assertEqual((r.status, r.body), (200, b'good'))
        self.server.wait_log('ValueError: close failed')

    # ---- files ----

    def test_file_positions(self):
        """R07"""
        for path, body in (
                ('/seek', b'56789'), ('/buffered', b'23456789'),
                ('/named', b'amed'), ('/raw', b'0123456789'),
                ('/dirty', b'234'), ('/gzip', b'unpacked'),
                ('/pipe', b'through a pipe'), ('/bytesio', b'in memory'),
                ('/only-read', b'in memory'), ('/iterated', b'in memory')):
            for declared in ('', '?%d' % len(body), '?3'):
                with self.subTest(path, declared=declared):
                    n = int(declared[1:] or len(body))
                    r = self.fetch('files', path + declared)
                    self.assertEqual(r.body, body[:n])
                    self.assertTrue(r.complete)

    def test_file_length(self):
        self.assertEqual(self.fetch('files', '/seek').get('Content-Length'),
                         '5')
        with Connection(self.server) as c:
            r = c.request('HEAD', '/seek', headers=[('X-App', 'files')])
            self.assertEqual(r.get('Content-Length'), '5')
            r = c.request('GET', '/', headers=[('X-App', 'deaf')])
            self.assertEqual(r.body, b'ok\n')

    def test_file_of_text(self):
        self.assertEqual(self.fetch('files', '/text').status, 500)

    def test_large_file(self):
        r = self.fetch('files', '/large')
        self.assertEqual(len(r.body), 1 << 24)
        self.assertEqual(r.body.count(b'\0'), 1 << 24)

    def test_wrapper_attributes(self):
        self.assertEqual(self.fetch('wrapper_attributes').body,
                         b"([b'abcd', b'ef'], True, True, False, True)")

    # ---- streams ----

    def test_blocks_arrive_on_time(self):
        """R12: each with the moment of its yield in it."""
        for version in (b'1.1', b'1.0'):
            with Connection(self.server) as c:
                c.send(b'GET /?4,0.3 HTTP/' + version + b'\r\nHost: t\r\n'
                       b'X-App: ticks\r\n\r\n')
                c.head()
                for i in range(4):
                    c.until(b'data: ')
                    n, when = c.until(b'\n\n').split()
                    late = time.time() - float(when)
                    self.assertEqual(int(n), i)
                    self.assertLess(late, 0.25 if not SLOW else 1)


class Killed(Case):
    """R04: a worker that is stopped in a stream says nothing more."""

    KEYS = {'timeout': '1s'}

    def test_no_second_status_line(self):
        for version, length in ((b'1.0', b''), (b'1.1', b''),
                                (b'1.1', b'1000000')):
            with Connection(self.server) as c:
                c.send(b'GET /?100,0.1 HTTP/' + version + b'\r\nHost: t\r\n'
                       b'X-App: ticks\r\nX-Length: ' + length +
                       b'\r\n\r\n')
                self.assertEqual(c.head()[0], 200)
                try:
                    rest = c.all()
                except ConnectionResetError:
                    continue
                self.assertIn(b'data: 3', rest)
                self.assertNotIn(b'HTTP/1.1', rest)
                self.assertFalse(rest.endswith(b'0\r\n\r\n'))

    def tearDown(self):
        pass            # the log does tell of a signal here


class Sendfile(unittest.TestCase):
    """A real file is sent by the kernel, not read."""

    def test_no_read_of_the_file(self):
        with Server('cases:app', wrapper=[
                'strace', '-f', '-o', '/dev/stderr', '-e',
                'trace=sendfile,read,pread64,sendto,sendmsg,writev']) as s:
            r = fetch(s, 'GET', '/large', headers=[('X-App', 'files')])
            self.assertEqual(len(r.body), 1 << 24)
            log = s.wait_log('sendfile(')
        reads = [line for line in log.splitlines()
                 if 'read' in line and line.endswith('= 65536')]
        self.assertLess(len(reads), 16, reads[:3])


class HotFile(Case):
    def test_a_file_that_shrinks_cuts_the_connection(self):
        """Its declared length cannot be kept."""
        with Connection(self.server) as c:
            r = c.request('GET', '/seek?1000', headers=[('X-App', 'files')])
            self.assertEqual((r.body, r.complete), (b'56789', False))
            self.assertTrue(c.at_end())
        self.assertTrue(wait_until(lambda: fetch(
            self.server, 'GET', '/', headers=[
                ('X-App', 'deaf')]).status == 200))


del Case
