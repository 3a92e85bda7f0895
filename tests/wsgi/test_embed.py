"""The interpreter: where it finds things, what it leaves alone, its end."""
import json
import os
import re
import shutil
import signal
import subprocess

import tempfile
import threading
import unittest

from client import Connection, fetch, request, wait_until
from server import APPS, Case, NARWHAL, SLOW, Server, has

PYTHON = '/usr/bin/python3'


class Embed(Case):
    APP = 'embed:app'
    KEYS = {'env': {'COLOUR': 'blue'}, 'pythonpath': '/nowhere/a, /nowhere/b'}

    def fetch(self, name, target='/', **more):
        r = fetch(self.server, 'GET', target, headers=[('X-App', name)],
                  **more)
        self.assertEqual(r.status, 200, self.server.log())
        return r

    def test_system(self):
        s = self.fetch('system').json()
        self.assertTrue(s['executable'].startswith('/'))
        version = subprocess.run(
            [s['executable'], '-c', 'import sys; print(sys.version_info[:3])'],
            capture_output=True, text=True).stdout
        self.assertEqual(version, '(%d, %d, %d)\n' % tuple(s['version']))
        self.assertTrue(s['argv'])
        self.assertTrue(all(isinstance(a, str) for a in s['argv']))
        self.assertEqual(s['path'][:3], ['/nowhere/a', '/nowhere/b', APPS])
        self.assertEqual(s['cwd'], APPS)
        self.assertEqual(s['environ']['COLOUR'], 'blue')
        self.assertTrue(s['main'])
        self.assertEqual(s['threads'], 1)
        self.assertEqual(s['encoding'][0], 'utf-8')

    def test_as_the_interpreter_itself_would(self):
        """sys.path behind our entries is that of a script."""
        s = self.fetch('system').json()
        out = subprocess.run(
            [s['executable'], '-c', 'import json, sys; print(json.dumps('
             '[sys.path[1:], sys.prefix]))'], capture_output=True,
            env={'PATH': os.environ['PATH']}, text=True).stdout
        self.assertEqual([s['path'][3:], s['prefix']], json.loads(out))

    def test_children(self):
        """E05"""
        self.assertEqual(self.fetch('children', '/run').body, b'42\n')
        self.assertEqual(self.fetch('children', '/spawn').body, b'[1]')
        self.assertEqual(self.fetch('children', '/fork').body, b'[1, 2, 3]')

    def test_exit_statuses(self):
        """E08"""
        for _ in range(5 if SLOW else 50):
            self.assertEqual(self.fetch('children', '/status').body,
                             b'(7, 9, 5)')

    def test_signals_of_children(self):
        """E08"""
        status = self.fetch('children', '/signals').body.decode()
        blocked, ignored = (int(re.search(
            r'%s:\s*(\w+)' % name, status).group(1), 16)
            for name in ('SigBlk', 'SigIgn'))
        self.assertEqual(blocked, 0)
        # Python ignores SIGPIPE; glibc's posix_spawn its own two (32, 33),
        # which make therefore hands down to all it starts.
        for may_be in signal.SIGPIPE, 32, 33:
            ignored &= ~(1 << (may_be - 1))
        self.assertEqual(ignored, 0)

    def test_prints_of_children(self):
        self.fetch('children', '/print')
        self.server.wait_log('from the child\n')
        self.server.wait_log('from the shell\n')
        self.server.wait_log('and its errors\n')

    def test_modules(self):
        self.assertEqual(self.fetch('modules').json(),
                         [42, 42, 1, '0.33', 2363233923, True])

    def test_signals_are_the_applications(self):
        pid, n = self.fetch('signals', '/install').json()
        os.kill(pid, signal.SIGUSR2)        # while it is idle
        self.assertTrue(wait_until(
            lambda: self.fetch('signals').json()[1] > n))
        self.assertGreater(self.fetch('signals', '/alarm').json()[1], n + 1)

    def test_errors_at_once(self):
        """E04"""
        lines = ['one line', 'two', 'three \u20ac', 'out line', 'err line',
                 'lone \\udc80 surrogate \U0001f433', 'bytes',
                 'after close True False', 'a warning']
        with Server('cases:app', log_level='debug') as s:
            self.assertEqual(fetch(s, 'GET', '/', headers=[
                ('X-App', 'errors')]).status, 200)
            log = s.log().splitlines()      # no waiting: it is there
            self.assertEqual([x for x in log if x in lines], lines)
            try:
                fetch(s, 'GET', '/die', headers=[('X-App', 'errors')])
                self.fail('it lives')
            except (EOFError, ConnectionError):
                pass
            log = s.log().splitlines()
            self.assertEqual([x for x in log if x in lines], lines * 2)


class Workers(unittest.TestCase):
    def test_random_state(self):
        """M11"""
        with Server('embed:app', workers=4) as s:
            seen = {}

            def collect(wanted):
                seen.clear()

                def enough():
                    d = fetch(s, 'GET', '/').json()
                    seen[d['pid']] = d['random']
                    return len(seen) >= wanted
                return wait_until(enough)

            def hammer():
                # several at once, so that all workers get one
                threads = [threading.Thread(target=collect, args=(4,))
                           for _ in range(4)]
                for t in threads:
                    t.start()
                for t in threads:
                    t.join()
            hammer()
            first = set(seen.values())
            self.assertEqual(len(first), len(seen))
            self.assertGreater(len(seen), 1)
            for others in s.reload, lambda: self.kill_all(s):
                others()
                hammer()
                self.assertEqual(len(set(seen.values()) | first),
                                 len(seen) + len(first))
                first |= set(seen.values())

    def kill_all(self, s):
        old = set(s.workers())
        for pid in old:
            os.kill(pid, signal.SIGKILL)
        self.assertTrue(wait_until(lambda: not old & set(s.workers())))

    def test_numpy_over_a_reload(self):
        if not has('numpy'):
            self.skipTest('no numpy')
        with Server('embed:app', workers=2) as s:
            headers = [('X-App', 'numbers')]
            for _ in range(2):
                for _ in range(10):
                    r = fetch(s, 'GET', '/', headers=headers)
                    self.assertEqual(r.body.split()[0], b'332833500.0')
                s.reload()
            self.assertEqual(fetch(s, 'GET', '/', headers=headers).status,
                             200)


class Exits(unittest.TestCase):
    def setUp(self):
        fd, self.where = tempfile.mkstemp()
        os.close(fd)

    def tearDown(self):
        os.unlink(self.where)

    def server(self, **keys):
        return Server('embed:app', options={'where': self.where}, **keys)

    def ask(self, s, path='/'):
        r = fetch(s, 'GET', path, headers=[('X-App', 'exiting')])
        return r.body.decode()

    def notes(self):
        with open(self.where) as f:
            return sorted(f.read().splitlines())

    def test_atexit_at_term(self):
        """E03"""
        with self.server() as s:
            pid = self.ask(s)
            self.assertEqual(s.terminate(), 0)
        self.assertEqual(self.notes(), ['atexit ' + pid])

    def test_atexit_at_reload_and_max_requests(self):
        """E03"""
        with self.server(max_requests=2) as s:
            first = self.ask(s)
            s.reload()
            self.assertTrue(wait_until(lambda: self.notes()))
            self.assertEqual(self.notes(), ['atexit ' + first])
            second = self.ask(s)
            fetch(s, 'GET', '/')
            self.assertTrue(wait_until(lambda: len(self.notes()) == 2))
            self.assertIn('atexit ' + second, self.notes())

    def test_atexit_under_load(self):
        """E03"""
        with self.server(workers=2) as s:
            pids = {self.ask(s) for _ in range(6)}
            stop = threading.Event()

            def load():
                while not stop.is_set():
                    try:
                        fetch(s, 'GET', '/')
                    except (OSError, EOFError):
                        pass
            t = threading.Thread(target=load)
            t.start()
            try:
                self.assertEqual(s.terminate(), 0)
            finally:
                s.socket.close()
                stop.set()
                t.join()
        self.assertEqual({n.split()[1] for n in self.notes()}, pids)

    def test_threads_at_the_end(self):
        with self.server() as s:
            pid = self.ask(s, '/thread/daemon/fails')
            self.assertEqual(s.terminate(), 0)
            log = s.log()
        self.assertEqual(self.notes(), ['atexit ' + pid, 'thread ' + pid])
        self.assertIn('atexit fails', log)
        self.assertIn('exit 0', log)

    def test_a_thread_that_never_ends(self):
        """Not longer than graceful-timeout."""
        with self.server(graceful_timeout='2s') as s:
            self.ask(s, '/stuck')
            self.assertEqual(s.terminate(), 0)


class Stuck(unittest.TestCase):
    def test_stacks_before_the_end(self):
        for path, line in (('/', 'in stuck_here'), ('/busy', 'in hang')):
            with Server('embed:app', timeout='1s') as s:
                with Connection(s) as c:
                    c.send(request('GET', path, headers=[('X-App', 'hang')]))
                    self.assertEqual(c.all(), b'')
                log = s.wait_log('Fatal Python error: Aborted')
                self.assertIn(line, log)
                self.assertIn('in waits_too', log)
                self.assertIn('most recent call first', log)
                self.assertEqual(fetch(s, 'GET', '/').status, 200)


class Loading(unittest.TestCase):
    def say(self, app, **keys):
        with Server(app, **keys) as s:
            return fetch(s, 'GET', '/').body.decode()

    def test_specs(self):
        for app, said in (
                ("embed:Made(1, 'x', k=[2])", "((1, 'x'), {'k': [2]})"),
                ('embed:Made.factory({"a": None})', "(({'a': None},), {})"),
                ('embed:made.app', "(('ready',), {})"),
                ('wsgi:embed:made', "(('ready',), {})")):
            with self.subTest(app):
                self.assertEqual(self.say('"%s"' % app.replace('"', '""')
                                          if '"' in app or ',' in app
                                          else app), said)
        self.assertIn('"executable"', self.say('wsgi:embed'))

    def test_on_the_command_line(self):
        with tempfile.TemporaryDirectory() as folder:
            shutil.copy(os.path.join(APPS, 'embed.py'), folder)
            r = subprocess.run([NARWHAL, '-t', '--bind=127.0.0.1:0',
                                'embed:app'], cwd=folder, text=True,
                               capture_output=True)
            self.assertEqual(r.returncode, 0, r.stderr)

    def test_checked_in_a_child(self):
        for app, status in (('embed:app', 0), ('broken:app', 2),
                            ('missing_colon', 2)):
            r = subprocess.run(
                [NARWHAL, '-t', '--bind=127.0.0.1:0', '--chdir=' + APPS,
                 '--app=' + app], text=True, capture_output=True)
            self.assertEqual(r.returncode, status, r.stderr)
            self.assertEqual('on purpose' in r.stderr, app == 'broken:app')

    def test_path_from_the_environment(self):
        with tempfile.TemporaryDirectory() as folder:
            with open(os.path.join(folder, 'elsewhere.py'), 'w') as f:
                f.write('from embed import made as app\n')
            self.assertEqual(self.say('elsewhere:app', env={
                'PYTHONPATH': folder}), "(('ready',), {})")

    def fails(self, app, *texts, **keys):
        s = Server(app, wait=False, **keys)
        try:
            self.assertEqual(s.process.wait(30), 4, s.log())
            log = s.log()
        finally:
            s.stop()
        for text in texts:
            self.assertEqual(log.count(text), 1, log)
        return log

    def test_what_cannot_be_loaded(self):
        self.fails('broken:app', 'Traceback (most recent call last)',
                   'LookupError: on purpose', 'in deep', workers=2)
        log = self.fails('no_such_module:app', 'ModuleNotFoundError')
        self.assertNotIn('<narwhal>', log)
        for app, why in (
                ('embed:nothing', "'embed' has no 'nothing'"),
                ('embed:made.nothing', "'embed' has no 'made.nothing'"),
                ('embed:not_callable', 'is not callable: 5'),
                ('embed:Made(open)', 'must be literals'),
                ('embed:1+', 'is not a name or a call'),
                ('embed:a[0]', 'neither a name nor a call')):
            with self.subTest(app):
                log = self.fails(app, why)
                self.assertNotIn('Traceback', log)

    def test_what_dies_at_import(self):
        """M03: after one attempt there is an end, and a reason."""
        for how, why in ('exit', 'exit 7'), ('signal', 'signal 11'):
            r = subprocess.run(
                [NARWHAL, '--bind=127.0.0.1:0', '--chdir=' + APPS,
                 '--workers=2', 'broken:app'], text=True, timeout=60,
                capture_output=True, env={**os.environ, 'HOW': how})
            self.assertEqual(r.returncode, 3, r.stderr)
            self.assertEqual(r.stderr.count('importing'), 1, r.stderr)
            self.assertRegex(r.stderr, 'before it was ready: ' + why)

    def test_a_failing_reload_keeps_the_old(self):
        with Server('embed:app') as s:
            s.keys['app'] = 'broken:app'
            s.write_ini()
            os.kill(s.master(), signal.SIGHUP)
            log = s.wait_log('LookupError: on purpose')
            s.wait_log('reload failed') if 'reload failed' in log else None
            self.assertEqual(fetch(s, 'GET', '/').json()['argv'],
                             ['narwhal'])
            s.env['MENDED'] = 'yes'
            s.reload()
            self.assertTrue(wait_until(
                lambda: fetch(s, 'GET', '/').body == b'mended'))


class Environments(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp()
        cls.venv = os.path.join(cls.folder, 'venv')
        subprocess.run([PYTHON, '-m', 'venv', '--without-pip', cls.venv],
                       check=True)
        lib = os.path.join(cls.venv, 'lib')
        name = os.listdir(lib)[0]
        with open(os.path.join(lib, name, 'site-packages',
                               'only_in_this_environment.py'), 'w'):
            pass

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.folder)

    def built_for(self):
        """The environment must be of the Python the gateway was built for."""
        with Server('embed:app') as s:
            v = fetch(s, 'GET', '/').json()['version'][:2]
        return 'python%d.%d' % tuple(v) in os.listdir(
            os.path.join(self.venv, 'lib'))

    def test_virtualenv(self):
        if not self.built_for():
            self.skipTest('built for another Python')
        for keys in ({'virtualenv': self.venv},
                     {'environ': {'VIRTUAL_ENV': self.venv}}):
            with Server('embed:app', **keys) as s:
                r = fetch(s, 'GET', '/', headers=[('X-App', 'only_here')])
                path, prefix, executable = r.json()
                self.assertTrue(path.startswith(self.venv))
                self.assertEqual(prefix, self.venv)
                self.assertEqual(os.path.dirname(executable),
                                 os.path.join(self.venv, 'bin'))
                r = fetch(s, 'GET', '/run', headers=[('X-App', 'children')])
                self.assertEqual(r.body, b'42\n')

    def test_what_is_no_environment(self):
        empty = os.path.join(self.folder, 'empty')
        os.makedirs(empty, exist_ok=True)
        s = Server('embed:app', wait=False, virtualenv=empty)
        self.assertNotEqual(s.process.wait(30), 0)
        self.assertIn('pyvenv.cfg', s.log())
        s.stop()
        other = os.path.join(self.folder, 'other')
        os.makedirs(os.path.join(other, 'lib', 'python2.7'), exist_ok=True)
        with open(os.path.join(other, 'pyvenv.cfg'), 'w'):
            pass
        with Server('embed:app', environ={'VIRTUAL_ENV': other}) as s:
            self.assertIn('is not of Python', s.log())
            self.assertEqual(fetch(s, 'GET', '/').status, 200)


del Case

