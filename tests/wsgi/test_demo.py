"""The application that conf/narwhal.ini serves."""
import os
import time
import unittest

from client import Connection, fetch, request
from server import SOURCE, Case, Server

CONF = os.path.join(SOURCE, 'conf')


class Demo(Case):
    APP = 'demo:app'
    KEYS = {'pythonpath': CONF, 'workers': 2, 'input_block_size': '32k'}

    def test_page(self):
        r = fetch(self.server, 'GET', '/')
        self.assertEqual(r.status, 200)
        page = r.body.decode()
        for text in ('narwhal/', 'CPython', 'process ',
                     '<th>input-block-size<td>32768', '/upload', '/echo',
                     '/stream', 'kill -HUP %d' % self.server.master()):
            self.assertIn(text, page)
        self.assertNotIn('{{', page)

    def test_upload(self):
        for body, chunked in ((b'', False), (b'x' * 3000000, False),
                              (b'x' * 3000000, True)):
            r = fetch(self.server, 'POST', '/upload', body, chunked=chunked)
            self.assertEqual(r.get('X-Received-Length'), str(len(body)))
            self.assertEqual(r.json()['received_bytes'], len(body))
            self.assertGreater(r.json()['process_seconds'], 0)
            self.assertEqual(len(r.json()), 2)
        self.assertEqual(fetch(self.server, 'GET', '/upload').status, 405)

    def test_echo(self):
        body = os.urandom(1 << 20)
        for chunked in (False, True):
            r = fetch(self.server, 'POST', '/echo', body, [
                ('Content-Type', 'a/b')], chunked)
            self.assertTrue(r.body == body)
            self.assertEqual(r.get('Content-Type'), 'a/b')
        r = fetch(self.server, 'GET', '/echo?x=1', headers=[('X-Y', 'z')])
        self.assertIn(b'GET /echo?x=1 HTTP/1.1\n', r.body)
        self.assertIn(b'X-Y: z\n', r.body)

    def test_stream(self):
        with Connection(self.server) as c:
            c.send(request('GET', '/stream'))
            self.assertEqual(c.head()[0], 200)
            c.until(b'data: event 1 of 20')
            began = time.monotonic()
            c.until(b'data: event 2 of 20')
            self.assertGreater(time.monotonic() - began, 0.5)
        # the client left: the worker is free again by the next event
        for _ in range(4):
            self.assertEqual(fetch(self.server, 'GET', '/').status, 200)

    def test_nothing_here(self):
        self.assertEqual(fetch(self.server, 'GET', '/x').status, 404)


class Shipped(unittest.TestCase):
    def test_the_shipped_file_serves_it(self):
        with open(os.path.join(CONF, 'narwhal.ini')) as f:
            lines = f.read().splitlines()
        self.assertIn('app = demo:app', lines)
        self.assertIn('pythonpath = .', lines)
        with Server('demo:app', pythonpath=CONF, chdir='/') as s:
            self.assertEqual(fetch(s, 'GET', '/').status, 200)


del Case
