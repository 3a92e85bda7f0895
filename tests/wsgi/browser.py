"""What a browser does round requests: cookies, kept connections, redirects."""
import re
from urllib.parse import urlencode

from client import Connection, request

HEADERS = [
    ('User-Agent', 'Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 '
     'Firefox/128.0'),
    ('Accept', 'text/html,application/xhtml+xml,application/xml;q=0.9,'
     '*/*;q=0.8'),
    ('Accept-Language', 'en-US,en;q=0.5'),
    ('Accept-Encoding', 'gzip, deflate'),
    ('Connection', 'keep-alive'),
    ('Upgrade-Insecure-Requests', '1'),
]


class Browser:
    def __init__(self, server):
        self.server, self.cookies, self.connection = server, {}, None

    def close(self):
        if self.connection:
            self.connection.close()
        self.connection = None

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.close()

    def send(self, method, target, body, headers):
        cookies = '; '.join('%s=%s' % c for c in self.cookies.items())
        headers = HEADERS + list(headers) + (
            [('Cookie', cookies)] if cookies else [])
        data = request(method, target, body, headers)
        for again in (True, False):
            if not self.connection:
                self.connection = Connection(self.server, 60)
            try:
                self.connection.send(data)
                return self.connection.response(method)
            except (EOFError, ConnectionError):
                # the server closed an idle connection
                self.close()
                if not again:
                    raise

    def fetch(self, method, target, body=None, headers=()):
        r = self.send(method, target, body, headers)
        for value in r.all('Set-Cookie'):
            name, _, rest = value.partition('=')
            self.cookies[name] = rest.split(';')[0]
        if (r.get('Connection') or '').lower() == 'close':
            self.close()
        if r.status in (301, 302, 303):
            return self.get(r.get('Location'))
        return r

    def get(self, target):
        return self.fetch('GET', target)

    def post_form(self, target, fields):
        return self.fetch('POST', target, urlencode(fields).encode(), [
            ('Content-Type', 'application/x-www-form-urlencoded')])

    def post_file(self, target, fields, name, data):
        boundary = b'----geckoformboundary5fb1e5a7'
        parts = [b'--%s\r\nContent-Disposition: form-data; name="%s"\r\n\r\n'
                 b'%s\r\n' % (boundary, n.encode(), v.encode())
                 for n, v in fields.items()]
        parts.append(b'--%s\r\nContent-Disposition: form-data; name="file"; '
                     b'filename="%s"\r\nContent-Type: '
                     b'application/octet-stream\r\n\r\n' % (
                         boundary, name.encode()))
        body = b''.join(parts + [data, b'\r\n--%s--\r\n' % boundary])
        return self.fetch('POST', target, body, [
            ('Content-Type', 'multipart/form-data; boundary=' +
             boundary.decode())])


def hidden(page, name):
    """The value of a hidden field of a form."""
    return re.search(r'name="?%s"?[^>]* value="([^"]+)"' % name,
                     page.decode()).group(1)
