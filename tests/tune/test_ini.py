"""The INI file's text: found as the server finds it, changed as little."""
import os
import tempfile
import unittest

from tune.held import ENDING, Held
from tune.ini import Ini, changed
from tune.stop import Failed

TEXT = b'''\xef\xbb\xbf; top
[app]
app = so:echo
[options]
input-block-size = mine
[buffers]
\tinput-block-size=4k;not a remark\t; a remark
# outgoing-body-chunk-size = 1k

[log]
error-log = "a ;""b"".log" ; quoted
log-level =
'''


class Reading(unittest.TestCase):
    def setUp(self):
        self.ini = Ini(TEXT)

    def test_values(self):
        for key, value in (('app', 'so:echo'), ('error-log', 'a ;"b".log'),
                           ('input-block-size', '4k;not a remark'),
                           ('log-level', ''), ('bind', None),
                           ('outgoing-body-chunk-size', None)):
            self.assertEqual(self.ini.get(key), value, key)

    def test_line_number(self):
        self.assertEqual(self.ini.find('error-log').number, 11)

    def test_nothing_is_lost(self):
        for data in (TEXT, b'', b'\n', b'x', b'\r\n[a', bytes(range(256))):
            self.assertEqual(Ini(data).data(), data)


class Changing(unittest.TestCase):
    def check(self, before, after, **settings):
        self.assertEqual(changed(before, 'buffers', {
            k.replace('_', '-'): v for k, v in settings.items()}), after)

    def test_in_place(self):
        self.check(TEXT, TEXT.replace(b'=4k;not a remark', b'=1m'),
                   input_block_size='1m')

    def test_behind_the_section(self):
        self.check(TEXT, TEXT.replace(b'a remark\n#', b'a remark\n\tx = 1\n#'),
                   x='1')

    def test_empty_section(self):
        self.check(b'[buffers]\n\n[a]\n', b'[buffers]\nx = 1\n\n[a]\n', x='1')

    def test_no_section(self):
        self.check(b'[a]\r\nb = c', b'[a]\r\nb = c\r\n\r\n[buffers]\r\n'
                   b'x = 1\r\n', x='1')
        self.check(b'', b'[buffers]\nx = 1\n', x='1')

    def test_line_ends_stay(self):
        self.check(b'[buffers]\r\nx = 1 ; y\r\n', b'[buffers]\r\nx = 2 ; y'
                   b'\r\n', x='2')
        self.check(b'[buffers]\nx = 1', b'[buffers]\nx = 2', x='2')

    def test_quotes_go(self):
        self.check(b'[buffers]\nx = "1" # y\n', b'[buffers]\nx = 2 # y\n',
                   x='2')

    def test_empty_value(self):
        self.check(b'[buffers]\nx = ; y\n', b'[buffers]\nx =2 ; y\n', x='2')


class Lending(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = os.path.join(folder.name, 'narwhal.ini')
        with open(self.path, 'wb') as f:
            f.write(TEXT)
        self.held = Held(self.path)

    def check(self, path):
        with open(path, 'rb') as f:
            self.assertEqual(f.read(), TEXT)

    def test_untouched(self):
        self.held.restore()
        self.check(self.path)
        self.assertFalse(os.path.exists(self.path + ENDING))

    def test_given_back(self):
        self.held.put(b'other')
        self.held.restore()
        self.check(self.path)
        self.assertFalse(os.path.exists(self.path + ENDING))

    def test_stopped_while_putting(self):
        self.held.replace(b'other')     # and put() has not noted it yet
        with self.assertRaises(Failed):
            self.held.restore()
        self.check(self.path + ENDING)
