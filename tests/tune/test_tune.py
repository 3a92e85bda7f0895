"""narwhal-tune against the real server.

Every test looks at what is left: the file byte for byte unless it was to be
written, nothing beside it, and the old settings in force.
"""
import os
import signal
import subprocess
import unittest
import xml.dom.minidom

from client import fetch, wait_until
from server import OUT, SOURCE
from tuned import Load, Tune, Tuned, tune

KNOB = '''; for tests/apps/knob.c
[log]
error-log = error.log   # beside this file
[server]
bind = fd:3
[buffers]
  outgoing-body-buffer-chunks = 0\t; lock-step
[app]
app = so:%s
''' % os.path.join(OUT, 'tests', 'knob.so')

ECHO = '''[app]
app = so:echo
[log]
error-log = error.log
[server]
bind = fd:3
workers = 2'''

CHUNKS = '--key=outgoing-body-buffer-chunks='
BLOCK = '--key=input-block-size='
SHORT = ('--rounds=8', '--seconds=0.001')


class Case(unittest.TestCase):
    TEXT = ECHO

    def setUp(self):
        self.server = Tuned(self.TEXT)
        self.addCleanup(self.server.stop)
        self.before = self.server.files()

    def check_untouched(self):
        self.assertEqual(self.server.ini(), self.server.text)
        self.assertEqual(self.server.files(), self.before)

    def reloads(self):
        return self.server.log().count('reload done')

    def fails(self, *options, url=None):
        """The reason it gives; nothing is left behind."""
        status, out, err = tune(self.server, *options, url=url)
        self.assertEqual((status, out), (1, ''), err)
        self.check_untouched()
        return err


class Knob(Case):
    """With an application that is faster with 16 chunks."""

    TEXT = KNOB

    def chunks(self):
        return fetch(self.server, 'GET', '/').body

    def test_found_and_written(self):
        svg = os.path.join(self.server.folder, 'plot.svg')
        status, out, err = tune(self.server, CHUNKS + '16', '--write',
                                '--plot', svg, *SHORT)
        self.assertEqual(status, 0, err)
        self.assertIn('Recommended:\n\toutgoing-body-buffer-chunks = 16\n',
                      out)
        self.assertIn('95 % confidence', out)
        self.assertIn('round 8 of 8', err)
        self.assertIn('Written to ', out)
        xml.dom.minidom.parse(svg)
        os.unlink(svg)
        self.assertEqual(self.server.ini().decode(), KNOB.replace(
            'chunks = 0\t; lock-step', 'chunks = 16\t; lock-step'))
        self.assertEqual(self.server.files(), self.before)
        self.assertEqual(self.chunks(), b'16')

    def test_interrupted(self):
        with Tune(self.server, CHUNKS + '0,16') as t:
            t.wait_step('round 1 of 10')
            self.assertTrue(wait_until(
                lambda: self.server.ini() != self.server.text))
            t.process.send_signal(signal.SIGINT)
            status, out, err = t.end()
        self.assertEqual((status, out), (130, ''), err)
        self.assertIn('ended by SIGINT', err)
        self.check_untouched()
        self.assertEqual(self.chunks(), b'0')


class Ending(Case):
    def test_signals(self):
        for number in (signal.SIGTERM, signal.SIGHUP):
            with self.subTest(number), \
                    Tune(self.server, CHUNKS + '0,16', '-s1k') as t:
                t.wait_step('round 1 of 10')
                t.process.send_signal(number)
                status, out, err = t.end()
                self.assertEqual((status, out), (128 + number, ''), err)
                self.assertIn('ended by ' + number.name, err)
                self.check_untouched()

    def test_nothing_is_better(self):
        status, out, err = tune(self.server, BLOCK + '4k,64k', '-s1k',
                                '--write', '--rounds=2', '--seconds=0.001')
        self.assertEqual(status, 0, err)
        self.assertIn('Keep the default', out)
        self.check_untouched()

    def test_somebody_else_edits_the_file(self):
        with Tune(self.server, CHUNKS + '0,16') as t:
            t.wait_step('round 1 of 10')
            t.process.send_signal(signal.SIGSTOP)
            with open(self.server.ini_path, 'a') as f:
                f.write('; edited\n')
            t.process.send_signal(signal.SIGCONT)
            status, _, err = t.end()
        self.assertEqual(status, 1)
        self.assertIn('changed by somebody else', err)
        self.assertTrue(self.server.ini().endswith(b'; edited\n'))
        with open(self.server.ini_path + '.before-tune', 'rb') as f:
            self.assertEqual(f.read(), self.server.text)

    def test_killed_before(self):
        aside = self.server.ini_path + '.before-tune'
        with open(aside, 'w') as f:
            f.write('what it was')
        self.before = self.server.files()
        self.assertIn('one was killed', self.fails())
        with open(aside) as f:
            self.assertEqual(f.read(), 'what it was')

    def test_server_ends(self):
        with Tune(self.server, CHUNKS + '0,16') as t:
            t.wait_step('round 1 of 10')
            self.server.terminate()
            status, out, err = t.end()
        self.assertEqual((status, out), (1, ''), err)
        self.check_untouched()


class Refusing(Case):
    def test_refused_reload(self):
        err = self.fails(BLOCK + '1', '--size=1k')
        self.assertRegex(err, r'narwhal\.ini:\d+: input-block-size: ')
        self.assertIn('refused', err)
        # still served by what was in force
        self.assertEqual(fetch(self.server, 'POST', '/', b'x').body, b'x')

    def test_broken_file(self):
        self.server.text = ECHO.encode() + b'\nno-such-key = 1\n'
        self.server.write_ini()
        self.assertIn('narwhal.ini:8: no-such-key: ', self.fails('-s1k'))
        self.assertEqual(self.reloads(), 0)

    def test_processes(self):
        child = subprocess.Popen(['/bin/true'])
        child.wait()
        worker = self.server.workers()[0]
        for pid, why in ((child.pid, 'there is no process %d' % child.pid),
                         (os.getpid(), 'not narwhal'),
                         (worker, 'is a worker; its master is %d'
                          % self.server.master())):
            self.assertIn(why, self.fails('--pid=%d' % pid))
        self.assertNotIn('reload', self.server.log())

    def test_another_file(self):
        other = self.server.ini_path + '.other'
        with open(other, 'w') as f:
            f.write(ECHO)
        reads, self.server.ini_path = self.server.ini_path, other
        self.before = self.server.files()
        self.assertIn('reads %s, not %s' % (reads, other), self.fails())
        self.assertNotIn('reload', self.server.log())

    def test_no_answer(self):
        self.assertIn('Connection refused', self.fails(
            '--pid=%d' % self.server.master(), url='http://127.0.0.1:1/'))
        self.assertNotIn('reload', self.server.log())

    def test_key_on_the_command_line(self):
        self.server.terminate()
        self.server.wrapper = ['sh', '-c', 'exec "$@" --input-block-size=8k',
                               'sh']
        self.server.start()
        self.server.wrapper = []
        self.server.wait_ready()
        self.before = self.server.files()
        err = self.fails(BLOCK + '4k', '--size=1k')
        self.assertIn('input-block-size: overridden by', err)


class Elsewhere(unittest.TestCase):
    """A log on standard error, a unix socket, a link for a file."""

    def test_all(self):
        with Tuned('[app]\napp = so:echo\n[server]\nbind = unix:own\n') as s:
            url = 'http://unix:%s:/x' % os.path.join(s.folder, 'own')
            link = s.ini_path + '.link'
            os.symlink('narwhal.ini', link)
            s.ini_path, before = link, s.files()
            status, _, err = tune(s, '-s1k', url=url)
            self.assertEqual(status, 1)
            self.assertIn('--log', err)
            status, out, err = tune(
                s, '--log', os.path.join(s.folder, 'stderr'), '-s1k',
                BLOCK + '4k,64k', '--rounds=1', '--seconds=0.001', url=url)
            self.assertEqual(status, 0, err)
            self.assertIn('No verdict, that takes 6 rounds', out)
            self.assertTrue(os.path.islink(link))
            self.assertEqual((s.ini(), s.files()), (s.text, before))


class UnderLoad(Case):
    TEXT = '''[app]
app = flask_upload:app
chdir = %s
[log]
error-log = error.log
[server]
bind = fd:3
''' % os.path.join(SOURCE, 'tests', 'bench', 'apps')

    def test_no_request_of_others_fails(self):
        with Load(self.server, '/upload', b'x' * 50000, 2) as load:
            status, out, err = tune(
                self.server, '--size=1m', BLOCK + '512,64k', '--rounds=1',
                '--seconds=0.001', url=self.server.url('/upload'))
        self.assertEqual(load.failures, [])
        self.assertGreater(load.served, 10)
        self.assertEqual(status, 0, err)
        self.assertIn('512', out)
        self.assertEqual(self.reloads(), 4)
        self.check_untouched()


del Case
