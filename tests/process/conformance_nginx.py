"""The request corpus through nginx, with the example of conf/.

nginx answers some cases itself; those say nothing of the server and are
counted.  What it passes on it writes anew, so that is heard on the way: a tap
between the two keeps the bytes of both directions, the second reader of
requests (tests/rfc) says of each request whether it is one, and the server must
have served it as it is there, or refused it.  The verdict of the corpus must
hold as well, but for what only the first hop can decide, and unless nginx has
mended what was wrong.
"""
import argparse
import base64
import json
import os
import re
import socket
import subprocess
import threading
import time

FRAME = """daemon off;
worker_processes 1;
pid nginx.pid;
error_log nginx.log;
events {{ worker_connections 512; }}
http {{
access_log off;
client_body_temp_path body;
proxy_temp_path proxied;
fastcgi_temp_path fastcgi;
uwsgi_temp_path uwsgi;
scgi_temp_path scgi;
add_header X-Passed-On $upstream_status always;
{example}
}}
"""
LINES = {'\tlisten 80;': '\tlisten 127.0.0.1:%d;',
         '\tserver 127.0.0.1:8000;': '\tserver 127.0.0.1:%d;'}
ADDED = 'x-forwarded-for', 'x-forwarded-proto'
NO_HOST = ['Host', 'localhost']  # of HTTP/1.0
PATIENCE = 20


def free_port():
    with socket.create_server(('127.0.0.1', 0)) as s:
        return s.getsockname()[1]


class Nginx:
    def __init__(self, source, folder, upstream, buffered):
        self.port = free_port()
        with open(source + '/conf/nginx.conf') as f:
            example = f.read()
        for (old, new), port in zip(LINES.items(), (self.port, upstream)):
            assert example.count(old + '\n') == 1, 'the example has no ' + old
            example = example.replace(old, new % port)
        if not buffered:
            example = example.replace(
                'location / {', 'location / {\nproxy_request_buffering off;')
        conf = folder + '/nginx.conf'
        with open(conf, 'w') as f:
            f.write(FRAME.format(example=example))
        self.process = subprocess.Popen(
            ['nginx', '-p', folder, '-e', 'nginx.log', '-c', conf,
             '-g', 'user root;' if os.getuid() == 0 else ''])
        until(lambda: self.is_up())

    def is_up(self):
        assert self.process.poll() is None, 'nginx has ended'
        try:
            socket.create_connection(('127.0.0.1', self.port)).close()
            return True
        except OSError:
            return False

    def stop(self):
        self.process.terminate()
        self.process.wait(PATIENCE)


def until(what):
    end = time.monotonic() + PATIENCE
    while not what():
        if time.monotonic() > end:
            return False
        time.sleep(0.002)
    return True


class Line:
    """One connection of nginx to the server, and what went over it."""

    def __init__(self, near, port):
        far = socket.create_connection(('127.0.0.1', port))
        self.sent, self.got, self.ends = bytearray(), bytearray(), 0
        self.judged = 0, 0
        for args in (near, far, self.sent), (far, near, self.got):
            threading.Thread(target=self.carry, args=args,
                             daemon=True).start()

    def carry(self, source, sink, record):
        try:
            while data := source.recv(65536):
                record += data
                sink.sendall(data)
            sink.shutdown(socket.SHUT_WR)
        except OSError:
            pass
        self.ends += 1
        if self.ends == 2:
            source.close()
            sink.close()

    def news(self):
        """-> what was sent and answered since the last time, or None"""
        sent, got = self.judged
        return (bytes(self.sent[sent:]), bytes(self.got[got:])) \
            if len(self.sent) > sent else None


class Tap:
    def __init__(self, port):
        self.port, self.lines = port, []
        self.listener = socket.create_server(('127.0.0.1', 0))
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            self.lines.append(Line(self.listener.accept()[0], self.port))


def in_order(fields):
    """Without those nginx sets; it has an order of its own."""
    return sorted((f for f in fields if f[0].lower() not in ADDED
                   and f != NO_HOST), key=lambda f: f[0].lower())


def parsed(raw):
    """-> what the application is told of a request nginx has written"""
    head, _, body = raw.partition(b'\r\n\r\n')
    lines = head.decode('latin-1').split('\r\n')
    method, target, version = lines[0].split(' ')
    fields = [[n, v.strip(' \t')] for n, _, v in
              (line.partition(':') for line in lines[1:])]
    if any(n.lower() == 'transfer-encoding' for n, _ in fields):
        data, body = body, b''
        while size := int(data.split(b';')[0].split(b'\r\n')[0], 16):
            at = data.index(b'\r\n') + 2
            body, data = body + data[at:at + size], data[at + size + 2:]
    return {'method': method, 'target': target, 'version': version,
            'headers': fields, 'body_b64': base64.b64encode(body).decode()}


class Judge:
    def __init__(self, replay, out, tap, port):
        self.replay, self.out, self.tap = replay, out, tap
        self.opt = argparse.Namespace(
            host='127.0.0.1', port=port, server='nginx', timeout=2, seed='1',
            gap=0.0003, recover=40, no_keepalive=True, need_status=False)
        self.count = dict.fromkeys(
            ('as the verdict says', 'mended by nginx', 'refused by nginx',
             'wrong'), 0)

    def read(self, sent):
        """-> [word, rest] for each request"""
        out = subprocess.run([self.out + '/tests/reader'], input=sent,
                             check=True, capture_output=True).stdout
        return [line.split(' ', 1) for line in out.decode().splitlines()]

    def responses(self, sent, got, readings):
        methods, at = [], 0
        for word, rest in readings:
            methods.append(sent[at:].split(b' ')[0].decode('latin-1'))
            at += int(rest) if word != 'bad' else 0
        return self.replay.read_responses(got, methods, True)[0]

    def settled(self, line):
        """Has the server said all it will say to what it has been sent?"""
        news = line.news()
        if news is None or line.ends == 2:
            return True
        readings = self.read(news[0])
        return len(self.responses(*news, readings)) >= len(readings) \
            and 'bad' not in (word for word, _ in readings)

    def wrong_with(self, sent, got, readings):
        """-> what the server did wrong on one connection, or None"""
        at, answers = 0, self.responses(sent, got, readings)
        for (word, rest), answer in zip(readings, answers):
            refused = answer.status >= 400
            if word == 'bad' and not refused:
                return 'served, but ' + rest
            if word == 'good' and refused:
                return 'refused with %d: %r' % (answer.status, sent[at:][:200])
            if not refused and answer.body:
                told = json.loads(answer.body)
                want = parsed(sent[at:at + int(rest)])
                for key, value in want.items():
                    if told[key] != value:
                        return '%s is %r, not %r' % (key, told[key], value)
            at += int(rest) if word != 'bad' else 0
        if len(answers) < sum(word == 'good' for word, _ in readings):
            return 'a good request has no answer'
        return 'more responses than requests' \
            if len(answers) > len(readings) else None

    def as_first_hop(self, case, ex):
        """Take off what nginx puts on, and what it may leave out."""
        had = set()
        for response in ex.responses:
            try:
                told = json.loads(response.body)
            except ValueError:
                continue
            told['version'] = None
            told['headers'] = in_order(told['headers'])
            had |= {name.lower() for name, _ in told['headers']}
            response.body = json.dumps(told).encode()
        for outcome in case['outcomes']:
            outcome['close'] = False  # it has a connection of its own
            for request in outcome['requests']:
                request['headers'] = [
                    f for f in in_order(request['headers'])
                    if f[0].lower() in had
                    or re.fullmatch('[A-Za-z0-9-]+', f[0])]

    def judge(self, case, mode):
        """-> a key of count, and why"""
        ex = self.replay.Exchange(self.opt, case, mode)
        until(lambda: all(map(self.settled, list(self.tap.lines))))
        passed = []
        for line in list(self.tap.lines):
            if news := line.news():
                passed.append(news + (self.read(news[0]),))
                line.judged = len(line.sent), len(line.got)
        for p in passed:
            if wrong := self.wrong_with(*p):
                return 'wrong', wrong
        if any(r.status in (502, 504) for r in ex.responses):
            return 'wrong', 'nginx has had no answer'
        own = [r for r in ex.responses if 'x-passed-on' not in r.headers]
        if any(r.status < 400 for r in own):
            return 'wrong', 'served by nobody'
        if not passed or own:
            return 'refused by nginx', None
        self.as_first_hop(case, ex)
        reasons = [self.replay.judge(o, ex, self.opt)
                   for o in case['outcomes']]
        if None in reasons:
            return 'as the verdict says', None
        if case['verdict'] == 'accept':
            return 'wrong', reasons[0]
        return 'mended by nginx', reasons[0]

    def run(self, path, mode, verbose):
        with open(path) as lines:
            for line in lines:
                case = json.loads(line)
                what, why = self.judge(case, mode)
                self.count[what] += 1
                if what == 'wrong' or verbose and why:
                    print('%s %s [%s, %s] %s' % (what.upper(), case['id'],
                          case['verdict'], mode, why), flush=True)


def run(replay, source, out, folder, port, files, verbose=False):
    """-> whether anything was wrong"""
    failed = False
    for buffered in True, False:
        tap = Tap(port)
        nginx = Nginx(source, folder, tap.listener.getsockname()[1], buffered)
        try:
            judge = Judge(replay, out, tap, nginx.port)
            for path in files:
                judge.run(path, 'whole', verbose)
        finally:
            nginx.stop()
        print('conformance through nginx, %s request bodies: %s' % (
            'collected' if buffered else 'streamed', ', '.join(
                '%d %s' % (n, what) for what, n in judge.count.items())))
        failed |= judge.count['wrong'] > 0 \
            or judge.count['as the verdict says'] == 0
    return failed
