"""The servers that are measured: started, found ready, ended.

    with Server('nginx', nginx()) as s:
        ...                     # it answers on s.port

Each has one worker unless it is said otherwise, a free port, a scratch folder
and a session of its own.  Leaving the block ends it; so do Ctrl-C, and TERM
and HUP once `end_on_signals` was called; and the kernel, should we be killed.
"""
import contextlib
import ctypes
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCE = os.path.dirname(os.path.dirname(HERE))
OUT = os.path.join(SOURCE, 'build')
APPS = os.path.join(HERE, 'apps')
PATIENCE = 60.0                 # for what must happen


PR_SET_PDEATHSIG = 1

libc = ctypes.CDLL(None)


class Failed(Exception):
    """A server, or what drives it, did not do its part."""


def end_on_signals():
    """Unwind the stack at INT, TERM and HUP alike, background job or not."""
    def end(number, frame):
        raise KeyboardInterrupt
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, end)


@contextlib.contextmanager
def undisturbed():
    """A second Ctrl-C must not keep us from what the first one asked for."""
    signals = {signal.SIGINT, signal.SIGTERM, signal.SIGHUP}
    before = signal.pthread_sigmask(signal.SIG_BLOCK, signals)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def end_with_parent():
    libc.prctl(PR_SET_PDEATHSIG, signal.SIGTERM)


def tool(name):
    return os.path.join(OUT, 'tests', name)


def free_port():
    with socket.socket() as s:
        s.bind(('127.0.0.1', 0))
        return s.getsockname()[1]


def environment(more):
    """Ours, without what would lead a Python elsewhere."""
    kept = {k: v for k, v in os.environ.items()
            if not k.startswith('PYTHON') and k not in (
                'VIRTUAL_ENV', 'PORT', 'WEB_CONCURRENCY', 'NOTIFY_SOCKET')}
    kept.update(more)
    return kept


def children(pid):
    with open('/proc/%d/task/%d/children' % (pid, pid)) as f:
        return [int(p) for p in f.read().split()]


class Server:
    """command(port, folder) gives the argument list."""

    def __init__(self, name, command, environ=None):
        self.name, self.command = name, command
        self.environ = environ or {}
        self.process = self.folder = None

    def __enter__(self):
        try:
            self.start()
            self.wait_ready()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, *exc):
        self.stop()

    @property
    def log_path(self):
        return os.path.join(self.folder, 'log')

    def log(self):
        with open(self.log_path, encoding='utf-8', errors='replace') as f:
            return f.read()

    def start(self):
        self.folder = tempfile.mkdtemp(prefix='narwhal-bench-')
        self.port = free_port()
        command = self.command(self.port, self.folder)
        with open(self.log_path, 'wb') as log:
            self.process = subprocess.Popen(
                command, cwd=self.folder, env=environment(self.environ),
                stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                start_new_session=True, preexec_fn=end_with_parent)

    def wait_ready(self):
        """Until it answers a request, whatever the answer."""
        end = time.monotonic() + PATIENCE
        while not self.answers():
            status = self.process.poll()
            if status is not None or time.monotonic() > end:
                raise Failed('%s does not answer (%s):\n%s' % (
                    self.name, status, self.log()))
            time.sleep(0.02)

    def answers(self):
        try:
            with socket.create_connection(
                    ('127.0.0.1', self.port), PATIENCE) as s:
                s.sendall(b'GET / HTTP/1.1\r\nHost: localhost\r\n'
                          b'Connection: close\r\n\r\n')
                return s.recv(4096).startswith(b'HTTP/1.')
        except OSError:
            return False

    def stop(self):
        """Ask the process we started; if it stays, its group is killed."""
        with undisturbed():
            self.end()

    def end(self):
        p = self.process
        if p is not None and p.poll() is None:
            p.terminate()
            try:
                p.wait(5)
            except subprocess.TimeoutExpired:
                os.killpg(p.pid, signal.SIGKILL)
                p.wait()
        if self.folder is not None:
            shutil.rmtree(self.folder, ignore_errors=True)


class Narwhal(Server):
    """Keys by section: Narwhal('narwhal', app={'app': 'so:hello'})."""

    def __init__(self, name, environ=None, **sections):
        super().__init__(name, self.command, environ)
        self.sections = sections

    def command(self, port, folder):
        self.ini_path = os.path.join(folder, 'narwhal.ini')
        self.set('server', 'bind', '127.0.0.1:%d' % port)
        self.set('wsgi', 'pythonpath', APPS)
        self.set('timeouts', 'timeout', '10m')
        self.write_ini()
        return [os.path.join(OUT, 'narwhal'), '-c', self.ini_path]

    def set(self, section, key, value):
        self.sections.setdefault(section, {}).setdefault(key, value)

    def write_ini(self):
        with open(self.ini_path + '.new', 'w') as f:
            for section, values in self.sections.items():
                f.write('[%s]\n' % section)
                f.writelines('%s = %s\n' % item for item in values.items())
        os.replace(self.ini_path + '.new', self.ini_path)

    def reload(self, section, **values):
        """Put keys (_ for -) into force with SIGHUP, and wait for that."""
        for key, value in values.items():
            self.sections.setdefault(section, {})[key.replace('_', '-')] = value
        self.write_ini()
        done = self.log().count('reload done')
        self.process.send_signal(signal.SIGHUP)
        end = time.monotonic() + PATIENCE
        while self.log().count('reload done') == done:
            if time.monotonic() > end or self.process.poll() is not None \
                    or 'reload refused' in self.log():
                raise Failed('no reload:\n' + self.log())
            time.sleep(0.01)

    def workers(self):
        return children(self.process.pid)

    def worker(self):
        """The one worker, once those of before a reload have left."""
        end = time.monotonic() + PATIENCE
        while len(self.workers()) != 1:
            if time.monotonic() > end:
                raise Failed('workers: %s\n%s' % (self.workers(), self.log()))
            time.sleep(0.01)
        return self.workers()[0]


# ---- how each is started ----

def floor(*work):
    return lambda port, folder: [tool('floor'), str(port), *map(str, work)]


def gunicorn(app):
    return lambda port, folder: [
        '/usr/bin/python3', '/usr/bin/gunicorn', '--worker-class', 'sync',
        '--workers', '1', '--timeout', '600', '--pythonpath', APPS,
        '--bind', '127.0.0.1:%d' % port, app]


def uwsgi(app):
    return lambda port, folder: [
        '/usr/bin/uwsgi', '--plugin', 'python3', '--processes', '1',
        '--http-socket', '127.0.0.1:%d' % port, '--need-app', '--die-on-term',
        '--disable-logging', '--pythonpath', APPS, '--module', app]


NGINX = '''
daemon off;
worker_processes 1;
pid %(folder)s/pid;
error_log %(folder)s/log;
%(user)s
events { worker_connections 1024; }
http {
	access_log off;
	keepalive_requests 1000000000;
	sendfile on;
	default_type text/plain;
	client_body_temp_path %(folder)s/body;
	proxy_temp_path %(folder)s/proxy;
	fastcgi_temp_path %(folder)s/fastcgi;
	scgi_temp_path %(folder)s/scgi;
	uwsgi_temp_path %(folder)s/uwsgi;
	server {
		listen 127.0.0.1:%(port)d;
		location / { return 200 "Hello, World!"; }
		location = /file { alias %(file)s; }
	}
}
'''


def nginx(file='/dev/null'):
    def command(port, folder):
        path = os.path.join(folder, 'nginx.conf')
        with open(path, 'w') as f:
            f.write(NGINX % {
                'port': port, 'folder': folder, 'file': file,
                'user': 'user root root;' if os.geteuid() == 0 else ''})
        return ['/usr/sbin/nginx', '-c', path, '-e',
                os.path.join(folder, 'log')]
    return command
