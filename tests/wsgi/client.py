"""A small HTTP/1.1 client that shows what was really on the wire."""
import json
import socket
import time


class Response:
    def __init__(self, status, reason, fields, body, trailers=(),
                 complete=True, interim=()):
        self.status, self.reason = status, reason
        self.fields, self.body = fields, body       # fields: [(name, value)]
        self.trailers = list(trailers)
        self.complete = complete        # was the end of the message seen?
        self.interim = list(interim)    # [(status, fields)] before it

    def get(self, name, default=None):
        values = self.all(name)
        return values[0] if values else default

    def all(self, name):
        return [v for n, v in self.fields if n.lower() == name.lower()]

    def json(self):
        return json.loads(self.body)

    def __repr__(self):
        return '<%d %s %r %r>' % (
            self.status, self.reason, self.fields, self.body[:200])


class Connection:
    """One connection; `with Connection(server) as c: c.send(b'...')`."""

    def __init__(self, server, timeout=20.0, rcvbuf=None):
        address = server.address
        kind = socket.AF_UNIX if isinstance(address, str) else socket.AF_INET
        self.sock = socket.socket(kind)
        if rcvbuf:
            self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, rcvbuf)
        self.sock.settimeout(timeout)
        self.sock.connect(address)
        if kind == socket.AF_INET:
            self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.data, self.eof = b'', False

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.close()

    def close(self):
        self.sock.close()

    def send(self, data):
        self.sock.sendall(data)

    def fill(self):
        """Receive some more; False at EOF."""
        got = self.sock.recv(65536)
        self.eof = not got
        self.data += got
        return bool(got)

    def until(self, what):
        while what not in self.data:
            if not self.fill():
                raise EOFError(self.data)
        head, _, self.data = self.data.partition(what)
        return head

    def exactly(self, n):
        parts, have = [self.data[:n]], len(self.data)
        self.data = self.data[n:]
        while have < n and not self.eof:
            got = self.sock.recv(min(n - have, 1 << 20))
            self.eof = not got
            parts.append(got)
            have += len(got)
        if have < n:
            self.data = b''.join(parts)
            raise EOFError(self.data)
        return b''.join(parts)

    def all(self):
        """Everything up to EOF."""
        parts = [self.data]
        self.data = b''
        while not self.eof:
            parts.append(self.sock.recv(1 << 20))
            self.eof = not parts[-1]
        return b''.join(parts)

    def at_end(self):
        """Does the server close without another byte?"""
        return not self.data and not self.fill()

    def head(self):
        lines = self.until(b'\r\n\r\n').decode('latin-1').split('\r\n')
        version, status, reason = (lines[0].split(' ', 2) + [''])[:3]
        assert version == 'HTTP/1.1', lines[0]
        fields = []
        for line in lines[1:]:
            name, colon, value = line.partition(':')
            assert colon and name == name.strip(), line
            fields.append((name, value.strip()))
        return int(status), reason, fields

    def chunks(self):
        """(chunks, trailers, complete)"""
        chunks = []
        try:
            while True:
                size = int(self.until(b'\r\n').split(b';')[0], 16)
                if size == 0:
                    break
                chunks.append(self.exactly(size))
                assert self.exactly(2) == b'\r\n'
            trailers = []
            while True:
                line = self.until(b'\r\n').decode('latin-1')
                if not line:
                    return chunks, trailers, True
                name, _, value = line.partition(':')
                trailers.append((name, value.strip()))
        except EOFError:
            return chunks, [], False

    def response(self, method='GET'):
        interim = []
        while True:
            status, reason, fields = self.head()
            if status >= 200:
                break
            interim.append((status, fields))
        r = Response(status, reason, fields, b'', interim=interim)
        length, coding = r.get('Content-Length'), r.get('Transfer-Encoding')
        assert not (length and coding), r
        if method == 'HEAD' or status in (204, 304):
            return r
        if coding:
            assert coding == 'chunked', coding
            chunks, r.trailers, r.complete = self.chunks()
            r.body = b''.join(chunks)
        elif length is not None:
            try:
                r.body = self.exactly(int(length))
            except EOFError:
                r.body, r.complete, self.data = self.data, False, b''
        else:
            r.body = self.all()
        return r

    def request(self, method, target, body=None, headers=(), chunked=False):
        """Send a request and read its response."""
        self.send(request(method, target, body, headers, chunked))
        return self.response(method)


def request(method, target, body=None, headers=(), chunked=False):
    """The bytes of a request."""
    fields = [('Host', 'test.example')] + list(headers)
    if chunked:
        fields.append(('Transfer-Encoding', 'chunked'))
        body = chunk(body) + b'0\r\n\r\n'
    elif body is not None:
        fields.append(('Content-Length', str(len(body))))
    head = '%s %s HTTP/1.1\r\n%s\r\n' % (method, target, ''.join(
        '%s: %s\r\n' % f for f in fields))
    return head.encode('latin-1') + (body or b'')


def chunk(data):
    return b'%x\r\n%s\r\n' % (len(data), data) if data else b''


def fetch(server, method, target, body=None, headers=(), chunked=False):
    """One request on a connection of its own."""
    with Connection(server) as c:
        return c.request(method, target, body, headers, chunked)


def raw(server, data, timeout=20.0):
    """Send these bytes on a new connection; all that comes until EOF.

    Only for requests after which the server closes.
    """
    with Connection(server, timeout) as c:
        c.send(data)
        return c.all()


def wait_until(true, seconds=20.0):
    """Until true() is; False if that takes too long."""
    end = time.monotonic() + seconds
    while not true():
        if time.monotonic() > end:
            return False
        time.sleep(0.01)
    return True
