"""One request on a connection of its own, and the time it took.

The body is sent while the response is received, for applications that answer
before they have read all.  `Connection: close` marks the end of any response,
so nothing has to be parsed while the clock runs.
"""
import errno
import mmap
import os
import re
import select
import socket
import time
from urllib.parse import urlsplit

from tune.stop import Failed

PIECE = 1 << 20
PATIENCE = 60.0                 # without progress
HEAD_MAX = 1 << 20


class Body:
    """len(body) bytes; body.view(i) is some of them, from the i-th on."""

    def __init__(self, data, length=None):
        self.data = memoryview(data)
        self.length = len(self.data) if length is None else length

    def __len__(self):
        return self.length

    def view(self, i):
        """Past its end the data begins again."""
        n = min(PIECE, self.length - i)
        i %= max(len(self.data), 1)
        return self.data[i:i + n]


def body_of_file(path):
    with open(path, 'rb') as f:
        if os.fstat(f.fileno()).st_size == 0:
            return Body(b'')
        return Body(mmap.mmap(f.fileno(), 0, access=mmap.ACCESS_READ))


def body_of_size(n):
    return Body(os.urandom(min(n, PIECE)), n)


# ---- where to ----

def parse_url(url):
    """(what is connected to, host, target); http://unix:/PATH:/TARGET too."""
    unix = re.fullmatch(r'http://unix:([^:]+)(?::(/.*)?)?', url)
    if unix:
        return [(socket.AF_UNIX, unix.group(1))], 'localhost', \
            unix.group(2) or '/'
    try:
        parts = urlsplit(url)
        port = parts.port or 80
    except ValueError as e:
        raise Failed("'%s': %s" % (url, e))
    if parts.scheme != 'http' or not parts.hostname:
        raise Failed("'%s' is not a URL like http://HOST:PORT/PATH, or "
                     "http://unix:/SOCKET:/PATH" % url)
    if not re.fullmatch('[!-~]+', url):
        raise Failed("'%s': blanks and what is not ASCII have to be written "
                     "as %%XX" % url)
    target = parts.path or '/'
    if parts.query:
        target += '?' + parts.query
    return resolve(parts.hostname, port), parts.netloc.rpartition('@')[2], \
        target


def resolve(host, port):
    try:
        return [(family, where) for family, _, _, _, where in
                socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)]
    except OSError as e:
        raise Failed('%s: %s' % (host, e.strerror))


class Request:
    def __init__(self, addresses, host, method, target, fields, body):
        """fields: [(name, value)]; body: a Body or None."""
        self.addresses = addresses
        self.method, self.target = method, target
        self.body = body or Body(b'')
        names = {name.lower() for name, _ in fields}
        fields = list(fields)
        if 'host' not in names:
            fields.insert(0, ('Host', host))
        if body is not None:
            fields.append(('Content-Length', str(len(body))))
        fields.append(('Connection', 'close'))
        self.head = ('%s %s HTTP/1.1\r\n%s\r\n' % (method, target, ''.join(
            '%s: %s\r\n' % f for f in fields))).encode()

    def __str__(self):
        return '%s %s' % (self.method, self.target)


# ---- the exchange ----

class Reply:
    """What has come of it so far."""

    def __init__(self):
        self.head, self.status = b'', None
        self.length, self.tail = 0, b''     # of what follows the head
        self.seconds = None

    def take(self, data):
        """data is a view that is only good during the call."""
        if self.status is None:
            self.head += data
            data = self.take_head()
        self.length += len(data)
        self.tail = (self.tail + bytes(data[-5:]))[-5:]

    def take_head(self):
        """Past interim responses; what is left over."""
        while b'\r\n\r\n' in self.head:
            head, _, rest = self.head.partition(b'\r\n\r\n')
            match = re.match(rb'HTTP/1\.\d (\d{3})', head)
            if not match:
                break
            if not match.group(1).startswith(b'1'):
                self.head, self.status = head, int(match.group(1))
                return rest
            self.head = rest
        if len(self.head) > HEAD_MAX:
            raise Failed('the response does not begin like one of HTTP/1.1')
        return b''

    def field(self, name):
        match = re.search(rb'\r\n%s:[ \t]*([^\r\n]*)' % name, self.head, re.I)
        return match and match.group(1).strip()

    def is_complete(self, method):
        if self.status is None:
            return False
        if method == 'HEAD' or self.status in (204, 304):
            return True
        if self.field(b'Transfer-Encoding'):
            return self.tail == b'0\r\n\r\n'
        length = self.field(b'Content-Length')
        return length is None or self.length == int(length)


class Client:
    def __init__(self, stop):
        self.stop = stop
        self.buffer = memoryview(bytearray(PIECE))

    def fetch(self, request):
        """The Reply; Failed unless it is whole and its status is 2xx."""
        try:
            reply = self.exchange(request)
        except OSError as e:
            raise Failed('%s: %s' % (request, e.strerror or e))
        if not reply.is_complete(request.method):
            raise Failed('%s: the response was cut' % request)
        if not 200 <= reply.status < 300:
            raise Failed('%s was answered with %d' % (request, reply.status))
        return reply

    def exchange(self, request):
        began = time.perf_counter()
        sock = self.connect(request)
        try:
            reply = self.talk(sock, request)
        finally:
            sock.close()
        reply.seconds = time.perf_counter() - began
        return reply

    def connect(self, request):
        """The first address that answers is the one from then on."""
        for family, where in list(request.addresses):
            sock = socket.socket(family, socket.SOCK_STREAM)
            try:
                self.connect_to(sock, family, where)
                request.addresses = [(family, where)]
                return sock
            except OSError as e:
                sock.close()
                error = e
            except BaseException:
                sock.close()
                raise
        raise error

    def connect_to(self, sock, family, where):
        sock.setblocking(False)
        if family != socket.AF_UNIX:
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        error = sock.connect_ex(where)
        if error == errno.EINPROGRESS:
            poller = self.stop.poller()
            poller.register(sock, select.POLLOUT)
            if not self.stop.wait(poller, PATIENCE):
                raise TimeoutError(errno.ETIMEDOUT, 'no connection')
            error = sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
        if error:
            raise OSError(error, os.strerror(error))

    def talk(self, sock, request):
        reply, sending = Reply(), Sending(request)
        poller = self.stop.poller()
        poller.register(sock, select.POLLIN | select.POLLOUT)
        while True:
            ready = self.stop.wait(poller, PATIENCE)
            if not ready:
                raise TimeoutError(errno.ETIMEDOUT, 'no progress for %.0f s'
                                   % PATIENCE)
            event = ready[0][1]
            if event & select.POLLOUT and not sending.done:
                sending.some(sock)
                if sending.done:
                    poller.modify(sock, select.POLLIN)
            if event & ~select.POLLOUT:
                n = sock.recv_into(self.buffer)
                if n == 0:
                    return reply
                reply.take(self.buffer[:n])


class Sending:
    """A request on its way out."""

    def __init__(self, request):
        self.head, self.body = memoryview(request.head), request.body
        self.sent, self.done = 0, False

    def some(self, sock):
        """A server that has answered need not take the rest."""
        try:
            n = sock.sendmsg([self.head, self.body.view(self.sent)])
        except BlockingIOError:
            return
        except (BrokenPipeError, ConnectionResetError):
            self.done = True
            return
        of_head = min(n, len(self.head))
        self.head = self.head[of_head:]
        self.sent += n - of_head
        self.done = not self.head and self.sent == len(self.body)
