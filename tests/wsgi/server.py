"""The real server in the foreground, for the tests beside this file.

It inherits a listening socket the test bound (fd 3), says READY=1 on a
NOTIFY_SOCKET the test holds, and logs to a file the test reads.  Nothing here
sleeps: it waits for messages, exits and lines.
"""
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import unittest

from client import fetch

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCE = os.path.dirname(os.path.dirname(HERE))
OUT = os.path.abspath(os.environ.get('OUT') or os.path.join(SOURCE, 'build'))
NARWHAL = os.path.join(OUT, 'narwhal')
APPS = os.path.join(HERE, 'apps')
SLOW = os.environ.get('KIND', 'release') != 'release'
PATIENCE = 60.0 if SLOW else 20.0       # for what must happen


def settings_text(settings):
    """{'app': {'app': 'x:y'}, ...} as an INI file."""
    return ''.join('[%s]\n%s' % (section, ''.join(
        '%s = %s\n' % item for item in values.items()))
        for section, values in settings.items())


def children(pid):
    with open('/proc/%d/task/%d/children' % (pid, pid)) as f:
        return [int(p) for p in f.read().split()]


def check_log(log):
    for bad in ('Sanitizer', 'runtime error:', 'signal 11'):
        if bad in log:
            raise AssertionError('%r is in the log:\n%s' % (bad, log))


class Server:
    """with Server('cases:app', workers=2) as s: s.get('/')

    Keys are those of the INI file with _ for -; `options` and `env` are
    dicts; `path` is a unix socket to listen on in place of a TCP one.
    """

    SECTIONS = {
        'app': 'app', 'chdir': 'app', 'pythonpath': 'wsgi',
        'virtualenv': 'wsgi', 'workers': 'server', 'keepalive': 'server',
        'max-requests': 'server', 'input-block-size': 'buffers',
        'outgoing-body-buffer-chunks': 'buffers',
        'outgoing-body-chunk-size': 'buffers',
        'outgoing-flush-delay': 'buffers', 'header-timeout': 'timeouts',
        'body-timeout': 'timeouts', 'send-timeout': 'timeouts',
        'timeout': 'timeouts', 'graceful-timeout': 'timeouts',
        'request-body': 'limits', 'forwarded-allow-ips': 'proxy',
        'log-level': 'log',
    }

    def __init__(self, app, options=None, env=None, path=None, cwd=None,
                 environ=None, wrapper=(), wait=True, **keys):
        self.folder = tempfile.mkdtemp(prefix='wsgi-')
        self.log_path = os.path.join(self.folder, 'error.log')
        self.ini_path = os.path.join(self.folder, 'narwhal.ini')
        self.keys = {'app': app, 'chdir': APPS}
        self.keys.update((k.replace('_', '-'), v) for k, v in keys.items())
        self.options, self.env = options or {}, env or {}
        self.cwd, self.environ = cwd or self.folder, environ or {}
        self.wrapper = list(wrapper)
        self.path = path
        self.process = None
        self.listen()
        self.write_ini()
        self.start()
        if wait:
            self.wait_ready()

    def listen(self):
        if self.path:
            self.socket = socket.socket(socket.AF_UNIX)
            self.address = os.path.join(self.folder, self.path)
        else:
            self.socket = socket.socket()
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            self.address = ('127.0.0.1', 0)
        self.socket.bind(self.address)
        self.socket.listen(128)
        self.address = self.socket.getsockname()
        self.notify = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.notify.bind(os.path.join(self.folder, 'notify'))

    @property
    def port(self):
        return self.address[1]

    def write_ini(self):
        sections = {'log': {'error-log': self.log_path},
                    'server': {'bind': 'fd:3'}}
        for key, value in self.keys.items():
            sections.setdefault(self.SECTIONS[key], {})[key] = value
        if self.options:
            sections['options'] = self.options
        if self.env:
            sections['env'] = self.env
        with open(self.ini_path, 'w') as f:
            f.write(settings_text(sections))

    def start(self):
        environ = {k: v for k, v in os.environ.items()
                   if k not in ('VIRTUAL_ENV', 'PYTHONPATH', 'PYTHONHOME')}
        environ['NOTIFY_SOCKET'] = os.path.join(self.folder, 'notify')
        if self.wrapper:        # the leak finder cannot work under strace
            environ['ASAN_OPTIONS'] = environ.get('ASAN_OPTIONS', '') + \
                ':detect_leaks=0'
        environ.update(self.environ)
        fd = self.socket.fileno()

        def inherit():
            if fd == 3:
                os.set_inheritable(3, True)
            else:
                os.dup2(fd, 3)
        with open(os.path.join(self.folder, 'stderr'), 'wb') as stderr:
            self.process = subprocess.Popen(
                self.wrapper + [NARWHAL, '-c', self.ini_path],
                preexec_fn=inherit, close_fds=False, cwd=self.cwd,
                env=environ, stdin=subprocess.DEVNULL, stdout=stderr,
                stderr=stderr, start_new_session=True)

    def wait_ready(self):
        """Until the master says READY=1; its early exit is an error."""
        self.notify.settimeout(0.2)
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            try:
                if b'READY=1' in self.notify.recv(4096):
                    return
            except TimeoutError:
                if self.process.poll() is not None:
                    break
        status, log = self.process.poll(), self.log()
        self.stop()
        raise AssertionError('not ready, status %s:\n%s' % (status, log))

    def log(self):
        text = ''
        for name in ('error.log', 'stderr'):
            try:
                with open(os.path.join(self.folder, name),
                          encoding='utf-8', errors='replace') as f:
                    text += f.read()
            except FileNotFoundError:
                pass
        return text

    def wait_log(self, text, count=1):
        """Until the log has the text; returns the log."""
        end = time.monotonic() + PATIENCE
        while True:
            log = self.log()
            if log.count(text) >= count:
                return log
            if time.monotonic() > end:
                raise AssertionError('%r is not in the log:\n%s' % (text, log))
            time.sleep(0.01)

    def reload(self):
        """Edit self.keys before; returns when the new workers serve."""
        self.write_ini()
        self.process.send_signal(signal.SIGHUP)
        self.wait_ready()

    def master(self):
        """Its pid; a wrapper such as strace stands before it."""
        pid = self.process.pid
        return children(pid)[0] if self.wrapper else pid

    def workers(self):
        return children(self.master())

    def terminate(self):
        """TERM, and the exit status."""
        os.kill(self.master(), signal.SIGTERM)
        return self.process.wait(PATIENCE * 2)

    def stop(self):
        if self.process.poll() is None:
            try:
                self.terminate()
            except (subprocess.TimeoutExpired, IndexError):
                os.killpg(self.process.pid, signal.SIGKILL)
                self.process.wait()
        self.socket.close()
        self.notify.close()
        log = self.log()
        shutil.rmtree(self.folder, ignore_errors=True)
        check_log(log)

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.stop()


def has(module):
    """The Python that the server embeds, if it has this module."""
    with Server('embed:app') as s:
        python = fetch(s, 'GET', '/').json()['executable']
    return subprocess.run([python, '-c', 'import ' + module],
                          capture_output=True).returncode == 0 and python


class Case(unittest.TestCase):
    """A test class with one server for all its tests."""

    APP = 'cases:app'
    KEYS = {}

    @classmethod
    def setUpClass(cls):
        cls.server = Server(cls.APP, **cls.KEYS)

    @classmethod
    def tearDownClass(cls):
        cls.server.stop()

    def tearDown(self):
        check_log(self.server.log())
