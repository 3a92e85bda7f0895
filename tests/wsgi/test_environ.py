"""The environ: PEP 3333 "environ Variables", and what clients try with it."""
import unittest

from client import Connection, fetch
from server import Case, Server


def ask(server, data):
    """Send a request that closes; what the echo application understood."""
    with Connection(server) as c:
        c.send(data)
        r = c.response()
    assert r.status == 200, r
    return r.json()


class Environ(Case):
    def test_types(self):
        doc = fetch(self.server, 'GET', '/', headers=[('X-App', 'types')])
        doc = doc.json()
        for key in ('dict', 'keys', 'strings', 'version'):
            self.assertTrue(doc[key], key)
        self.assertEqual(doc['flags'], [False, True, False, True])
        self.assertEqual(doc['settings']['input-block-size'], '65536')
        self.assertEqual(doc['options'], {})

    def test_plain_request(self):
        with Connection(self.server) as c:
            e = c.request('GET', '/p?q=1').json()
            mine = c.sock.getsockname()
        self.assertEqual(e['REQUEST_METHOD'], 'GET')
        self.assertEqual(e['SCRIPT_NAME'], '')
        self.assertEqual(e['PATH_INFO'], '/p')
        self.assertEqual(e['QUERY_STRING'], 'q=1')
        self.assertEqual(e['REQUEST_URI'], '/p?q=1')
        self.assertEqual(e['RAW_URI'], '/p?q=1')
        self.assertEqual(e['SERVER_PROTOCOL'], 'HTTP/1.1')
        self.assertEqual(e['SERVER_NAME'], '127.0.0.1')
        self.assertEqual(e['SERVER_PORT'], str(self.server.port))
        self.assertEqual(e['REMOTE_ADDR'], '127.0.0.1')
        self.assertEqual(e['REMOTE_PORT'], str(mine[1]))
        self.assertEqual(e['wsgi.url_scheme'], 'http')
        self.assertEqual(e['HTTP_HOST'], 'test.example')
        self.assertTrue(e['SERVER_SOFTWARE'].startswith('narwhal/'))
        for absent in ('CONTENT_LENGTH', 'CONTENT_TYPE',
                       'HTTP_CONTENT_LENGTH', 'HTTP_CONTENT_TYPE'):
            self.assertNotIn(absent, e)

    def test_each_request_has_its_own(self):
        """Values that are kept between requests must not be mixed up."""
        with Connection(self.server) as c:
            for i in range(20):
                method = ('GET', 'PUT', 'DELETE', 'PRIVATE')[i % 4]
                body = b'x' * (i % 3) if i % 2 else None
                e = c.request(method, '/%d?%d' % (i // 2, i // 3), body, [
                    ('X-I', str(i // 2)), ('x-i', 'y'),
                    ('X-%d' % i, 'z'), ('Accept', 'a/b')]).json()
                self.assertEqual(e['REQUEST_METHOD'], method)
                self.assertEqual(e['PATH_INFO'], '/%d' % (i // 2))
                self.assertEqual(e['QUERY_STRING'], str(i // 3))
                self.assertEqual(e['RAW_URI'], '/%d?%d' % (i // 2, i // 3))
                self.assertEqual(e['HTTP_X_I'], '%d,y' % (i // 2))
                self.assertEqual(e['HTTP_X_%d' % i], 'z')
                self.assertEqual(e['HTTP_ACCEPT'], 'a/b')
                self.assertEqual(
                    [k for k in e if k.startswith('HTTP_X_')],
                    ['HTTP_X_I', 'HTTP_X_%d' % i])
                self.assertEqual(e.get('CONTENT_LENGTH'),
                                 str(i % 3) if i % 2 else None)
                self.assertEqual(e['body'], (body or b'').hex())

    def test_a_spoilt_environ_is_gone(self):
        with Connection(self.server) as c:
            for path in ('/', '/', '/strong', '/'):
                r = c.request('GET', path, headers=[('X-App', 'keep')])
                before, alive = r.json()
                self.assertEqual(before, {'wsgi.url_scheme': "'http'"})
        self.assertTrue(alive)      # only because /strong has kept it

    def test_leftovers_of_another_request(self):
        with Connection(self.server) as c:
            c.request('POST', '/strong', b'old', [('X-App', 'keep')])
            r = c.request('POST', '/', b'new', [('X-App', 'stale')]).json()
        self.assertEqual(r, ['the request is over'] * 6 + ['new'])

    def test_content_type_and_length(self):
        e = fetch(self.server, 'POST', '/', b'abc', [
            ('content-type', 'text/x')]).json()
        self.assertEqual(e['CONTENT_TYPE'], 'text/x')
        self.assertEqual(e['CONTENT_LENGTH'], '3')
        self.assertNotIn('HTTP_CONTENT_TYPE', e)
        self.assertNotIn('HTTP_CONTENT_LENGTH', e)

    def test_chunked_has_no_length(self):
        e = fetch(self.server, 'POST', '/', b'abc', chunked=True).json()
        self.assertNotIn('CONTENT_LENGTH', e)
        self.assertEqual(e['body'], b'abc'.hex())

    def test_http_1_0(self):
        e = ask(self.server, b'GET / HTTP/1.0\r\n\r\n')
        self.assertEqual(e['SERVER_PROTOCOL'], 'HTTP/1.0')
        self.assertNotIn('HTTP_HOST', e)
        self.assertTrue(e['SERVER_NAME'])
        self.assertTrue(e['SERVER_PORT'].isdigit())

    def test_underscores_do_not_collide(self):
        """P08"""
        for data in (b'X-Real_Ip: 6.6.6.6\r\nX-Real-Ip: 10.0.0.1\r\n',
                     b'X-Real-Ip: 10.0.0.1\r\nX_Real-Ip: 6.6.6.6\r\n'):
            e = ask(self.server, b'GET / HTTP/1.1\r\nHost: t\r\n' + data +
                    b'\r\n')
            self.assertEqual(e['HTTP_X_REAL_IP'], '10.0.0.1')
        e = ask(self.server, b'POST / HTTP/1.1\r\nHost: t\r\n'
                b'Content_Length: 3\r\nTransfer_Encoding: chunked\r\n\r\n')
        self.assertNotIn('CONTENT_LENGTH', e)
        self.assertEqual(e['body'], '')

    def test_latin_1(self):
        """P09"""
        e = ask(self.server, b'GET /caf%C3%A9/%D1%97?x=%C3%A9+1 HTTP/1.1\r\n'
                b'Host: t\r\nX-L: \xe9\r\n\r\n')
        self.assertEqual(e['PATH_INFO'], '/caf\u00c3\u00a9/\u00d1\u0097')
        self.assertEqual(e['QUERY_STRING'], 'x=%C3%A9+1')
        self.assertEqual(e['HTTP_X_L'], '\u00e9')
        e = ask(self.server, b'GET /%ff%fe%00 HTTP/1.1\r\nHost: t\r\n\r\n')
        self.assertEqual(e['PATH_INFO'], '/\u00ff\u00fe\u0000')
        e = ask(self.server, b'GET /caf\xc3\xa9 HTTP/1.1\r\nHost: t\r\n\r\n')
        self.assertEqual(e['PATH_INFO'], '/caf\u00c3\u00a9')
        e = ask(self.server, b'GET /%2e%2F//a;b HTTP/1.1\r\nHost: t\r\n\r\n')
        self.assertEqual(e['PATH_INFO'], '/.///a;b')

    def test_repeated_fields(self):
        """P20"""
        e = ask(self.server, b'GET / HTTP/1.1\r\nHost: t\r\nCookie: a=1\r\n'
                b'Accept: x/y\r\nCookie: b=2\r\nAccept: z/w\r\n'
                b'accept: same\r\nAccept: same\r\ncookie: b=2\r\n\r\n')
        self.assertEqual(e['HTTP_COOKIE'], 'a=1; b=2; b=2')
        self.assertEqual(e['HTTP_ACCEPT'], 'x/y,z/w,same,same')

    def test_absolute_form(self):
        """P05"""
        for target, host, *wanted in (
                ('http://one.test/p?q=1', 'two.test', 'one.test', '/p',
                 'q=1'),
                ('http://one.test', 'one.test', 'one.test', '/', ''),
                ('HTTP://one.test:81/a/../b', 'one.test:81', 'one.test:81',
                 '/a/../b', '')):
            e = ask(self.server, b'GET %b HTTP/1.1\r\nHost: %b\r\n\r\n' % (
                target.encode(), host.encode()))
            self.assertEqual([e['HTTP_HOST'], e['PATH_INFO'],
                              e['QUERY_STRING']], wanted)
            self.assertEqual(e['RAW_URI'], target)

    def test_options_star(self):
        e = ask(self.server, b'OPTIONS * HTTP/1.1\r\nHost: t\r\n\r\n')
        self.assertEqual((e['PATH_INFO'], e['RAW_URI']), ('', '*'))

    def test_many_and_long_names(self):
        """More names than are kept, and one that is too long to be."""
        for turn in range(2):
            names = ['X-%d-%s' % (i + turn * 30, 'n' * (i % 60))
                     for i in range(80)]
            e = fetch(self.server, 'GET', '/', headers=[
                (n, n.lower()) for n in names]).json()
            for n in names:
                key = 'HTTP_' + n.upper().replace('-', '_')
                self.assertEqual(e[key], n.lower())

    def test_long_values(self):
        with Connection(self.server) as c:
            for n in (0, 1, 1023, 1024, 1025, 8000, 1024, 0):
                e = c.request('GET', '/', headers=[('X-V', 'v' * n)]).json()
                self.assertEqual(e['HTTP_X_V'], 'v' * n)

    def test_trailers_stay_out(self):
        """P21"""
        data = (b'POST /one HTTP/1.1\r\nHost: t\r\n'
                b'Transfer-Encoding: chunked\r\nTrailer: X-Sum\r\n\r\n'
                b'3\r\nabc\r\n0\r\nX-Sum: 9\r\nContent-Length: 99\r\n'
                b'X-User: root\r\n\r\n'
                b'GET /two HTTP/1.1\r\nHost: t\r\n\r\n')
        with Connection(self.server) as c:
            c.send(data)
            one, two = c.response().json(), c.response().json()
        self.assertEqual(two['PATH_INFO'], '/two')
        for absent in ('HTTP_X_SUM', 'HTTP_X_USER', 'CONTENT_LENGTH'):
            self.assertNotIn(absent, one)


class Checked(Environ):
    """The same under wsgiref.validate."""
    APP = 'cases:checked'

    # these look into what the validator wraps
    test_leftovers_of_another_request = None
    test_a_spoilt_environ_is_gone = None


class Unix(unittest.TestCase):
    """E10"""

    def test_unix_socket(self):
        with Server('cases:app', path='s') as s:
            one = ask(s, b'GET / HTTP/1.1\r\nHost: h.test:81\r\n\r\n')
            two = ask(s, b'GET / HTTP/1.0\r\n\r\n')
            six = ask(s, b'GET / HTTP/1.1\r\nHost: [::1]\r\n\r\n')
            tls = ask(s, b'GET / HTTP/1.1\r\nHost: h\r\n'
                      b'X-Forwarded-Proto: https\r\n\r\n')
        for e in (one, two, six, tls):
            self.assertEqual((e['REMOTE_ADDR'], e['REMOTE_PORT']), ('', ''))
        names = [(e['SERVER_NAME'], e['SERVER_PORT'])
                 for e in (one, two, six, tls)]
        self.assertEqual(names, [('h.test', '81'), ('localhost', '80'),
                                 ('[::1]', '80'), ('h', '443')])
        self.assertEqual(tls['wsgi.url_scheme'], 'https')


class Forwarded(unittest.TestCase):
    FIELDS = [('X-Forwarded-Proto', 'https'),
              ('X-Forwarded-For', '6.6.6.6, 192.0.2.7, 10.0.0.1')]

    def environ(self, **keys):
        with Server('cases:app', **keys) as s:
            return fetch(s, 'GET', '/', headers=self.FIELDS).json()

    def test_trusted(self):
        e = self.environ(forwarded_allow_ips='127.0.0.0/8, 10.0.0.0/8')
        self.assertEqual(e['wsgi.url_scheme'], 'https')
        self.assertEqual(e['REMOTE_ADDR'], '192.0.2.7')
        self.assertEqual(e['HTTP_X_FORWARDED_FOR'], self.FIELDS[1][1])

    def test_not_trusted(self):
        e = self.environ(forwarded_allow_ips='10.0.0.0/8')
        self.assertEqual(e['wsgi.url_scheme'], 'http')
        self.assertEqual(e['REMOTE_ADDR'], '127.0.0.1')

    def test_contradiction(self):
        with Server('cases:app') as s:
            r = fetch(s, 'GET', '/', headers=self.FIELDS[:1] + [
                ('X-Forwarded-Proto', 'http')])
            self.assertEqual(r.status, 400)
            r = fetch(s, 'GET', '/', headers=[
                ('X-Forwarded-Proto', 'https, http')])
            self.assertEqual(r.status, 400)
            self.assertEqual(fetch(s, 'GET', '/').status, 200)


class Settings(unittest.TestCase):
    def test_settings_and_options(self):
        with Server('cases:app', options={'colour': 'blue', 'n': '5'},
                    input_block_size='128k', workers=2) as s:
            doc = fetch(s, 'GET', '/', headers=[('X-App', 'types')]).json()
        self.assertEqual(doc['options'], {'colour': 'blue', 'n': '5'})
        self.assertEqual(doc['settings']['input-block-size'], '131072')
        self.assertEqual(doc['settings']['workers'], '2')


del Case
