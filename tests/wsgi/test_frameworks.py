"""Flask and Django as they are, two workers, a browser-like client."""
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import unittest

from browser import Browser, hidden
from client import fetch
from server import APPS, SLOW, Server, has

MEGA = 1 << 20


def in_parallel(n, work):
    """Run work(i) in n threads; the first failure is raised."""
    failures = []

    def one(i):
        try:
            work(i)
        except BaseException as error:
            failures.append(error)
    threads = [threading.Thread(target=one, args=(i,)) for i in range(n)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    if failures:
        raise failures[0]


class Flask(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        if not has('flask'):
            raise unittest.SkipTest('no Flask')
        cls.server = Server('flask_site:app', workers=2)

    @classmethod
    def tearDownClass(cls):
        cls.server.stop()

    def test_uploads(self):
        for n in (0, 1, 1000, MEGA, 8 * MEGA + 1):
            data = b'x' * n
            for target in ('/data', '/stream'):
                r = fetch(self.server, 'POST', target, data)
                self.assertEqual(r.json()['received_bytes'], n)
                self.assertEqual(r.get('X-Received-Length'), str(n))
            r = fetch(self.server, 'POST', '/stream', data, chunked=True)
            self.assertEqual(r.json()['received_bytes'], n)
            with Browser(self.server) as b:
                r = b.post_file('/files', {}, 'f', data)
                self.assertEqual(r.json()['received_bytes'], n)

    def test_sessions_and_forms(self):
        def visit(i):
            with Browser(self.server) as b:
                for n in range(1, 30):
                    self.assertEqual(b.get('/count').json()['n'], n)
                r = b.post_form('/form', {'a': 'b c', 'i': i})
                self.assertEqual(r.json(), {'a': ['b c'], 'i': [str(i)]})
        in_parallel(4, visit)

    def test_the_rest(self):
        with Browser(self.server) as b:
            self.assertEqual(b.get('/events').body,
                             b''.join(b'data: %d\n\n' % i for i in range(5)))
            self.assertEqual(b.get('/fail').status, 500)
            self.assertEqual(b.get('/nothing').status, 404)
            with open(os.path.join(APPS, 'flask_site.py'), 'rb') as f:
                text = f.read()
            self.assertEqual(b.get('/send').body, text)
            r = b.fetch('GET', '/send', headers=[('Range', 'bytes=4-9')])
            self.assertEqual((r.status, r.body), (206, text[4:10]))
        self.server.wait_log('RuntimeError: in a view')


class Django(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        python = has('django')
        if not python:
            raise unittest.SkipTest('no Django')
        cls.site = tempfile.mkdtemp()
        with open(os.path.join(cls.site, 'large'), 'wb') as f:
            f.write(b'large' * MEGA)
        env = dict(os.environ, SITE=cls.site)
        subprocess.run([python, os.path.join(APPS, 'django_site.py')],
                       env=env, check=True, stdout=sys.stderr)
        cls.server = Server('django_site:application', workers=2,
                            env={'SITE': cls.site}, timeout='120s')

    @classmethod
    def tearDownClass(cls):
        cls.server.stop()
        shutil.rmtree(cls.site)

    def test_sessions(self):
        def visit(i):
            with Browser(self.server) as b:
                for n in range(1, 10):
                    self.assertEqual(b.get('/count').body.decode(), str(n))
        in_parallel(3, visit)

    def test_admin_and_static_files(self):
        with Browser(self.server) as b:
            page = b.get('/admin/')
            self.assertIn(b'name="password"', page.body)
            page = b.post_form('/admin/login/?next=/admin/', {
                'csrfmiddlewaretoken': hidden(page.body,
                                              'csrfmiddlewaretoken'),
                'username': 'root', 'password': 'secret', 'next': '/admin/'})
            self.assertIn(b'Site administration', page.body)
            page = b.get('/admin/auth/user/')
            self.assertIn(b'root@example.test', page.body)
            css = b.get('/static/admin/css/base.css')
            self.assertEqual(css.status, 200)
            self.assertGreater(len(css.body), 5000)
            self.assertTrue(css.complete)

    def test_upload_by_a_form(self):
        size = (20 if SLOW else 200) * MEGA
        data = os.urandom(MEGA) * (size // MEGA)
        with Browser(self.server) as b:
            page = b.get('/upload')
            token = hidden(page.body, 'csrfmiddlewaretoken')
            r = b.post_file('/upload', {'csrfmiddlewaretoken': token,
                                        'note': 'h\u00e9'}, 'f.bin', data)
            self.assertEqual(r.status, 200, r)
            self.assertEqual(r.json(), {
                'size': size, 'note': 'h\u00e9',
                'sha256': hashlib.sha256(data).hexdigest()})
            r = b.post_file('/upload', {'note': 'no token'}, 'f', b'x')
            self.assertEqual(r.status, 403)

    def test_streams(self):
        with Browser(self.server) as b:
            self.assertEqual(b.get('/stream').body, b''.join(
                b'line %d\n' % i for i in range(10000)))
            r = b.get('/download')
            self.assertEqual(r.get('Content-Length'), str(5 * MEGA))
            self.assertTrue(r.body == b'large' * MEGA)
            self.assertEqual(b.get('/fail').status, 500)

