"""start_response, write(), status and header checks: PEP 3333."""
from cases import STARTS
from client import Connection, fetch
from server import Case


class Start(Case):
    def fetch(self, name, target='/', method='GET', **more):
        return fetch(self.server, method, target, headers=[('X-App', name)],
                     **more)

    def test_exc_info_before_the_body(self):
        """R05"""
        r = self.fetch('exc_info')
        self.assertEqual((r.status, r.reason), (503, 'Busy'))
        self.assertEqual((r.get('X-New'), r.get('X-Old')), ('1', None))
        self.assertEqual(r.body, b'no')

    def test_exc_info_after_the_body(self):
        """R05"""
        before = self.server.log().count("KeyError: 'boom'")
        with Connection(self.server) as c:
            r = c.request('GET', '/', headers=[('X-App', 'exc_info_late')])
            self.assertTrue(c.at_end())
        self.assertEqual((r.status, r.body, r.complete),
                         (200, b'first', False))
        log = self.server.wait_log("KeyError: 'boom'", before + 1)
        self.assertEqual(log.count("KeyError: 'boom'"), before + 1)
        self.assertIn('exc_info_late', log)

    def test_twice(self):
        r = self.fetch('twice')
        self.assertEqual(r.status, 500)
        self.server.wait_log('start_response was called twice')

    def test_keywords(self):
        self.assertEqual(self.fetch('keywords').body, b'named')

    def test_what_is_refused(self):
        """R09, and the type checks: each error names the culprit."""
        culprits = {
            'status-bytes': 'not bytes', 'status-int': 'not int',
            'status-short': "'20'", 'status-words': "'OK 200'",
            'headers-tuple': 'not tuple', 'headers-none': 'not NoneType',
            'headers-dict': 'not dict', 'header-list': "['X-Pair', 'b']",
            'header-triple': 'X-Three', 'name-bytes': "b'X-Bytes'",
            'value-int': "('X-Int', 1)", 'value-none': "('X-None', None)",
            'value-euro': 'X-Euro', 'name-blank': 'X Blank',
            'name-colon': 'X-Colon:', 'connection': 'connection',
            'transfer-encoding': 'Transfer-Encoding',
            'length-word': 'many', 'length-twice': "'3'", 'crlf': 'X-T',
            'exc-info': 'no tuple',
        }
        for case in STARTS:
            with self.subTest(case):
                with Connection(self.server) as c:
                    r = c.request('GET', '/?' + case, headers=[
                        ('X-App', 'starts')])
                    self.assertEqual(r.status, 500)
                    self.assertNotIn('X-Evil', repr(r))
                    self.assertNotIn(b'body', r.body)
                r = self.fetch('starts', '/caught?' + case)
                self.assertEqual(r.status, 200, r)
                self.assertIn(culprits.get(case, ''), r.body.decode())
                self.assertRegex(r.body, b'^(Type|Value)Error: start_resp')
        self.assertNotIn('X-Evil: 1\n', self.server.log())

    def test_statuses(self):
        for given, reason in (('200+OK', 'OK'), ('599+Odd', 'Odd'),
                              ('404+Not+Found+At+All', 'Not Found At All'),
                              ('201', 'Created')):
            r = self.fetch('status', '/?' + given)
            self.assertEqual((r.status, r.reason), (int(given[:3]), reason))

    def test_own_fields_stand_once(self):
        """R11"""
        r = self.fetch('own_fields')
        self.assertEqual(r.all('Date'), ['Tue, 01 Jan 2030 00:00:00 GMT'])
        self.assertEqual(r.all('Server'), ['mine'])
        self.assertEqual(r.all('Content-Length'), ['2'])
        self.assertEqual(r.all('Set-Cookie'), ['a=1', 'b=2'])
        self.assertEqual(r.get('X-Latin'), 'caf\xe9')
        self.assertEqual(r.get('X-Tab'), 'a\tb')
        self.assertEqual(len(self.fetch('deaf').all('Date')), 1)

    def test_head(self):
        """R01"""
        data = (b'HEAD /lazy HTTP/1.1\r\nHost: t\r\nX-App: lazy\r\n\r\n'
                b'HEAD / HTTP/1.1\r\nHost: t\r\nX-App: lazy\r\n\r\n'
                b'HEAD /?3 HTTP/1.1\r\nHost: t\r\nX-App: one\r\n\r\n'
                b'GET /x HTTP/1.1\r\nHost: t\r\nX-App: deaf\r\n'
                b'Connection: close\r\n\r\n')
        with Connection(self.server) as c:
            c.send(data)
            self.assertEqual(c.response('HEAD').status, 200)
            self.assertEqual(c.response('HEAD').status, 200)
            self.assertEqual(c.response('HEAD').get('Content-Length'), '3')
            self.assertEqual(c.response().body, b'ok\n')
            self.assertTrue(c.at_end())

    def test_204_and_304(self):
        """R02"""
        closed = int(self.fetch('closing', '/count').body)
        for path in ('/a', '/a?l', '/b', '/b?l'):
            with Connection(self.server) as c:
                r = c.request('GET', path, headers=[('X-App', 'bodiless')])
                self.assertIsNone(r.get('Transfer-Encoding'))
                if r.status == 204:
                    self.assertIsNone(r.get('Content-Length'))
                r = c.request('GET', '/z?l', headers=[('X-App', 'bodiless')])
                self.assertEqual(r.body, b'hello')
        self.assertEqual(int(self.fetch('closing', '/count').body),
                         closed + 8)

    def test_more_than_declared(self):
        """R03"""
        closed = int(self.fetch('closing', '/count').body)
        for name in ('too_much', 'too_much_written'):
            for _ in range(2):
                with Connection(self.server) as c:
                    r = c.request('GET', '/', headers=[('X-App', name)])
                    self.assertEqual(r.body, b'hello')
                    try:
                        r = c.request('GET', '/', headers=[('X-App', 'deaf')])
                        self.assertEqual(r.body, b'ok\n')
                    except (EOFError, ConnectionError):
                        pass
        self.assertEqual(int(self.fetch('closing', '/count').body),
                         closed + 2)
        self.assertIn('write refused:', self.server.log())

    def test_fewer_than_declared(self):
        with Connection(self.server) as c:
            r = c.request('GET', '/seek?7', headers=[('X-App', 'files')])
            self.assertEqual((r.body, r.complete), (b'56789', False))

    def test_failures_before_the_body(self):
        """R13: a clean 500, nothing of the exception in the page."""
        for name, text in (('boom', 'ZeroDivisionError: secret'),
                           ('quits', 'SystemExit: 3'),
                           ('interrupted', 'KeyboardInterrupt'),
                           ('nothing', 'never called start_response'),
                           ('silent_body', 'before start_response'),
                           ('not_iterable', 'NoneType')):
            for method in ('GET', 'HEAD'):
                with self.subTest(name, method=method):
                    with Connection(self.server) as c:
                        r = c.request(method, '/', headers=[('X-App', name)])
                        self.assertEqual(r.status, 500)
                        self.assertNotIn(b'secret', r.body)
                        if r.get('Connection') != 'close':
                            r = c.request('GET', '/', headers=[
                                ('X-App', 'deaf')])
                            self.assertEqual(r.body, b'ok\n')
            self.server.wait_log(text)
        log = self.server.log()
        self.assertIn('Traceback (most recent call last)', log)
        self.assertIn("raise ZeroDivisionError('secret')", log)
        self.assertIn('GET /', log)

    def test_failure_after_the_body(self):
        """R14: the cut must be seen."""
        with Connection(self.server) as c:
            r = c.request('GET', '/', headers=[('X-App', 'half')])
            self.assertEqual((r.body, r.complete), (b'half', False))
            self.assertTrue(c.at_end())
        self.server.wait_log('RuntimeError: rest is missing')

    def test_write(self):
        self.assertEqual(self.fetch('writes').body, b'one two three')


class Checked(Case):
    """Good applications under wsgiref.validate."""
    APP = 'cases:checked'

    def test_the_validator_finds_nothing(self):
        for name, target in (('lazy', '/lazy'), ('writes', '/'),
                             ('items', '/generator?a,b'), ('files', '/seek'),
                             ('ticks', '/?2,0'), ('deaf', '/'),
                             ('lines', '/'), ('bodiless', '/a')):
            with self.subTest(name):
                r = fetch(self.server, 'POST', target, b'a\nb', [
                    ('X-App', name)])
                self.assertLess(r.status, 300, r)
        self.assertNotIn('AssertionError', self.server.log())


del Case
