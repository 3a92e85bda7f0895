"""Nothing grows: E09 of the regression cases.

A few thousand requests over a mix of everything that can go right and wrong;
SOAK=1 makes it 50,000.
"""
import os
import socket
import struct
import unittest

from client import Connection, chunk, fetch, request
from server import SLOW, Server

ROUNDS = 2000 if os.environ.get('SOAK') else 20 if SLOW else 120
WARM_UP = 80 if os.environ.get('SOAK') else 10 if SLOW else 60

# (application, method, body): a response that ends, on a kept connection
WHOLE = [('empty', 'GET', None), ('generator', 'GET', None),
         ('large', 'GET', None), ('large', 'HEAD', None),
         ('generator', 'HEAD', None), ('wrapped', 'HEAD', None),
         ('early', 'GET', None), ('late', 'GET', None),
         ('again', 'GET', None), ('bad_headers', 'GET', None),
         ('bad_item', 'GET', None), ('wrapped', 'GET', None),
         ('wrapped_memory', 'GET', None), ('unread', 'POST', b'u' * 5000),
         ('read', 'POST', b'r' * 5 + b'\n' + b's' * 70000),
         ('lines', 'POST', b'line\n' * 100), ('writes', 'GET', None),
         ('extras', 'GET', None), ('keeps', 'GET', None),
         ('no_such_application', 'GET', None)]
TRAILING = (b'POST /extras HTTP/1.1\r\nHost: t\r\nTE: trailers\r\n'
            b'Transfer-Encoding: chunked\r\n\r\n' + chunk(b'abc') +
            b'0\r\nX-A: b\r\n\r\n')


def reset(c):
    c.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER,
                      struct.pack('ii', 1, 0))


class Soak(unittest.TestCase):
    def one_round(self, s):
        """25 requests."""
        c = Connection(s)
        for name, method, body in WHOLE:
            r = c.request(method, '/' + name, body)
            if r.get('Connection') == 'close':
                c.close()
                c = Connection(s)
        c.send(TRAILING)
        self.assertEqual(c.response().trailers, [('X-A', 'b')])
        c.close()
        for name in ('half', 'again_late'):
            self.assertFalse(fetch(s, 'GET', '/' + name).complete)
        with Connection(s, rcvbuf=4096) as c:
            c.send(request('GET', '/gone'))
            c.head()
            reset(c)
        for name in ('broken', 'broken_uncaught'):
            with Connection(s) as c:
                c.send(request('POST', '/' + name, b'').replace(
                    b'Length: 0', b'Length: 9') + b'half')
                c.sock.shutdown(socket.SHUT_WR)
                c.all()

    def report(self, s):
        return fetch(s, 'GET', '/report').json()

    def test_nothing_grows(self):
        with Server('mix:app', log_level='error') as s:
            for _ in range(WARM_UP):
                self.one_round(s)
            self.report(s)
            before = self.report(s)
            for _ in range(ROUNDS):
                self.one_round(s)
            after = self.report(s)
        self.assertEqual(before['pid'], after['pid'])
        self.assertTrue(after['dead'], 'a request left something alive')
        # some connections may still linger
        self.assertLess(after['fds'] - before['fds'], 10)
        if not SLOW:
            self.assertLess(after['rss'] - before['rss'], 1 << 20)
        self.assertLess(abs(after['objects'] - before['objects']), 50)
        self.assertLess(abs(after['total'] - before['total']), 500)
        for name, count in before['counts'].items():
            # one a round would be ROUNDS; None is also in CPython's cache of
            # attributes, in the places not used yet
            slack = 200 if name == 'None' else 0
            self.assertLess(abs(after['counts'][name] - count),
                            ROUNDS - 5 + slack, name)
