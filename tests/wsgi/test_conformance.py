"""The request corpus in $CONFORMANCE, replayed against a WSGI application."""
import glob
import os
import subprocess
import sys
import unittest

from server import Server

CORPUS = os.environ.get('CONFORMANCE')


@unittest.skipUnless(CORPUS, 'no CONFORMANCE')
class Conformance(unittest.TestCase):
    def test_replay(self):
        files = sorted(glob.glob(os.path.join(CORPUS, '*.jsonl')))
        self.assertTrue(files)
        with Server('conformance:app', workers=2, header_timeout='30s',
                    body_timeout='30s') as s:
            for mode in 'whole', 'bytes', 'random':
                r = subprocess.run(
                    [sys.executable, os.path.join(CORPUS, 'replay.py'),
                     '--mode', mode, '--strict', '127.0.0.1:%d' % s.port] +
                    files, capture_output=True, text=True)
                self.assertEqual(r.returncode, 0, r.stdout[-3000:] + r.stderr)
                self.assertIn(' 0 failed', r.stdout)
            self.assertNotIn('AssertionError', s.log())
