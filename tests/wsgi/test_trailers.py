"""Early hints and trailers, which PEP 3333 does not know."""
from client import Connection, chunk, fetch
from server import Case


class Extras(Case):
    def test_early_hints(self):
        r = fetch(self.server, 'GET', '/', headers=[('X-App', 'hints')])
        self.assertEqual(r.interim, [
            (103, [('Link', '</a.css>; rel=preload')]),
            (103, [('Link', '</b.js>; rel=preload'), ('X-More', '1')])])
        self.assertEqual((r.status, r.body), (200, b'x'))
        log = self.server.wait_log('hint refused TypeError', 3)
        self.assertIn('hint refused ValueError', log)

    def test_no_hints_for_http_1_0(self):
        with Connection(self.server) as c:
            c.send(b'GET / HTTP/1.0\r\nX-App: hints\r\n\r\n')
            self.assertEqual(c.response().interim, [])

    TRAILERS = b'X-Sum: 9\r\nX-Who: caf\xe9\r\n\r\n'

    def test_echo_of_trailers(self):
        for te, parts in ((b'TE: trailers\r\n', [('X-Sum', '9'),
                                                 ('X-Who', 'caf\xe9')]),
                          (b'', [])):
            with Connection(self.server) as c:
                for _ in range(2):
                    c.send(b'POST / HTTP/1.1\r\nHost: t\r\n' + te +
                           b'X-App: trailers\r\n'
                           b'Transfer-Encoding: chunked\r\n\r\n' +
                           chunk(b'abc') + b'0\r\n' + self.TRAILERS)
                    r = c.response()
                    self.assertEqual((r.body, r.trailers), (b'abc', parts))
                    self.assertEqual(r.get('X-Early'), '[]')
        self.server.wait_log('trailer refused\n', 16)

    def test_no_trailers(self):
        r = fetch(self.server, 'POST', '/', b'abc', [
            ('X-App', 'trailers'), ('TE', 'trailers')])
        self.assertEqual((r.body, r.trailers), (b'abc', []))


del Case
