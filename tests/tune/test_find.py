"""Which process, which log: found, or refused before any signal is sent."""
import os
import socket
import subprocess
import tempfile
import unittest

from server import NARWHAL, OUT
from tune import proc, target, values
from tune.client import parse_url
from tune.ini import Ini
from tune.log import Log
from tune.session import in_turn
from tune.stop import Failed


class Processes(unittest.TestCase):
    def test_who_listens(self):
        for family, host in ((socket.AF_INET, '127.0.0.1'),
                             (socket.AF_INET6, '::1'),
                             (socket.AF_INET6, '::')):
            with self.subTest(host), socket.socket(family) as s:
                s.bind((host, 0))
                s.listen()
                port = s.getsockname()[1]
                found = proc.inodes((family, (host, port)))
                self.assertTrue(proc.holds(os.getpid(), found))
                self.assertFalse(proc.holds(os.getppid(), found))
                other = (socket.AF_INET, ('127.0.0.2', port))
                self.assertEqual(bool(proc.inodes(other)), host == '::')

    def test_who_listens_on_a_unix_socket(self):
        with tempfile.TemporaryDirectory() as d, \
                socket.socket(socket.AF_UNIX) as s:
            path = os.path.join(d, 's')
            s.bind(path)
            s.listen()
            found = proc.inodes((socket.AF_UNIX, path))
            self.assertTrue(proc.holds(os.getpid(), found))
            with self.assertRaisesRegex(Failed, 'no master of narwhal'):
                proc.master_listening([(socket.AF_UNIX, path)])

    def test_no_such_process(self):
        child = subprocess.Popen(['/bin/true'])
        child.wait()
        with self.assertRaisesRegex(Failed, 'there is no process'):
            proc.check_master(child.pid)

    def test_another_program(self):
        with self.assertRaisesRegex(Failed, "is 'python.*', not narwhal"):
            proc.check_master(os.getpid())

    def test_configuration_among_arguments(self):
        for args, path in ((['-c', 'a'], 'a'), (['-ca'], 'a'),
                           (['--config', 'a'], 'a'), (['--config=a'], 'a'),
                           (['--workers=2', 'so:echo'], 'narwhal.ini')):
            self.assertEqual(proc.option(args), path)


class Turns(unittest.TestCase):
    def test_each_place_equally_often(self):
        for n in range(2, 8):
            names = list(range(n))
            rounds = [in_turn(names, r) for r in range(2 * n)]
            for place in range(n):
                self.assertEqual(sorted(r[place] for r in rounds),
                                 sorted(2 * names))


class Files(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.ini = os.path.join(self.folder.name, 'x.ini')

    def test_log(self):
        path = target.log_path(self.ini, Ini(b'[log]\nerror-log = a/b\n'))
        self.assertEqual(path, os.path.join(self.folder.name, 'a/b'))
        for text in (b'', b'[log]\nerror-log = -\n'):
            with self.assertRaisesRegex(Failed, '--log'):
                target.log_path(self.ini, Ini(text))

    def test_log_level(self):
        target.check_level(self.ini, Ini(b'log-level = debug\n'))
        with self.assertRaisesRegex(Failed, 'x.ini:2: .*set it to info'):
            target.check_level(self.ini, Ini(b'\nlog-level = error\n'))

    def test_addresses(self):
        found = target.bound(self.ini, Ini(
            b'bind = 127.0.0.1:80, [::1]:81 fd:3 unix:s, 127.0.0.1:0\n'))
        self.assertEqual(
            [(f, w if f == socket.AF_UNIX else w[:2]) for f, w in found],
            [(socket.AF_INET, ('127.0.0.1', 80)),
             (socket.AF_INET6, ('::1', 81)),
             (socket.AF_UNIX, os.path.join(self.folder.name, 's'))])

    def test_pidfile(self):
        ini = Ini(b'pidfile = p\n')
        self.assertIsNone(target.from_pidfile(self.ini, ini))
        with open(os.path.join(self.folder.name, 'p'), 'w') as f:
            f.write('123\n')
        self.assertEqual(target.from_pidfile(self.ini, ini), 123)

    def test_log_that_moves(self):
        path = os.path.join(self.folder.name, 'log')
        with open(path, 'w') as old:
            old.write('[t] [1] [info] before\n')
            old.flush()
            log = Log(path)
            self.assertEqual(log.lines(), [])
            old.write('[t] [1] [info] a\n[t] [2] [er')
            old.flush()
            self.assertEqual(log.lines(), [(1, 'info', 'a')])
            old.write('ror] b [c]\nno line of ours\n')
            os.rename(path, path + '.1')
        self.assertEqual(log.lines(), [(2, 'error', 'b [c]')])
        with open(path, 'w') as new:
            new.write('[t] [3] [info] d\n')
        self.assertEqual(log.lines(), [(3, 'info', 'd')])

    def test_defaults_are_the_server_s(self):
        with open(self.ini, 'w') as f:
            f.write('[app]\napp = so:echo\n')
        said = subprocess.run([NARWHAL, '-c', self.ini, '-T'], text=True,
                              capture_output=True, check=True).stdout
        ini = Ini(said.encode())
        for key, value in values.DEFAULTS.items():
            self.assertEqual(ini.get(key), value)


class Urls(unittest.TestCase):
    def test_good(self):
        self.assertEqual(parse_url('http://127.0.0.1:8000/a?b=c'), (
            [(socket.AF_INET, ('127.0.0.1', 8000))], '127.0.0.1:8000',
            '/a?b=c'))
        self.assertEqual(parse_url('http://unix:/run/s:/a'), (
            [(socket.AF_UNIX, '/run/s')], 'localhost', '/a'))
        self.assertEqual(parse_url('http://[::1]')[1:], ('[::1]', '/'))

    def test_bad(self):
        for url in ('127.0.0.1:8000', 'https://127.0.0.1/', 'http:///a',
                    'http://127.0.0.1:x/', 'http://127.0.0.1/a b'):
            with self.assertRaises(Failed, msg=url):
                parse_url(url)


class Program(unittest.TestCase):
    def test_usage(self):
        for args in ([], ['x', 'y', '--key=input-block-size=1x']):
            done = subprocess.run([os.path.join(OUT, 'narwhal-tune'), *args],
                                  capture_output=True, text=True)
            self.assertEqual(done.returncode, 2, args)
            self.assertIn('usage: narwhal-tune', done.stderr)
