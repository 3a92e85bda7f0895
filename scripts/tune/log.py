"""The error log, read on as it grows, also when it is renamed."""
import os
import re

from tune.stop import Failed

LINE = re.compile(rb'\[[^\]]*\] \[(\d+)\] \[(\w+)\] (.*)')


class Log:
    """lines() are those whole ones that were written since the last call."""

    def __init__(self, path):
        self.path = path
        try:
            self.file = open(path, 'rb')
        except OSError as e:
            raise Failed('cannot read the error log %s: %s'
                         % (path, e.strerror))
        self.file.seek(0, os.SEEK_END)
        self.rest = b''

    def lines(self):
        """[(pid, level, message)]"""
        if os.fstat(self.file.fileno()).st_size < self.file.tell():
            self.file.seek(0)           # it was emptied
        data = self.rest + self.file.read()
        if self.is_renamed():
            data += self.file.read()
            self.file.close()
            self.file = open(self.path, 'rb')
            data += self.file.read()
        whole, newline, self.rest = data.rpartition(b'\n')
        return [(int(m.group(1)), m.group(2).decode(),
                 m.group(3).decode('utf-8', 'replace'))
                for m in map(LINE.fullmatch, whole.split(b'\n')) if m]

    def is_renamed(self):
        try:
            return not os.path.samestat(os.stat(self.path),
                                        os.fstat(self.file.fileno()))
        except OSError:
            return False
