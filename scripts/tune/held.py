"""The file of a running server, lent to us: changed by rename, given back.

A second name for the file holds what it was, until it is given back or kept
changed; it is the lock against another tune as well, and what is left should
nobody be able to give it back.  Giving back is a rename: it needs no room on
the disk, and mode, owner and times are those from before.
"""
import os
import shutil
import tempfile

from tune.stop import Failed

ENDING = '.before-tune'


class Held:
    def __init__(self, path):
        self.path = os.path.realpath(path)      # a link stays a link
        self.aside = self.path + ENDING
        self.original = self.read()
        self.last = self.original
        self.kept = False
        self.file = os.stat(self.path).st_ino
        self.set_aside()

    def read(self):
        with open(self.path, 'rb') as f:
            return f.read()

    def set_aside(self):
        try:
            try:
                os.link(self.path, self.aside)
            except FileExistsError:
                raise
            except OSError:             # a file system without links
                self.copy_aside()
        except FileExistsError:
            raise Failed(
                '%s is there: another narwhal-tune is at work, or one was '
                'killed and the file holds the settings from before; move it '
                'back to %s, or remove it' % (self.aside, self.path))
        except OSError as e:
            raise Failed('cannot make %s: %s' % (self.aside, e.strerror))

    def copy_aside(self):
        with open(self.aside, 'xb') as f:
            try:
                f.write(self.original)
                f.flush()
                shutil.copystat(self.path, self.aside)
            except OSError:             # half of it would be taken for all
                os.unlink(self.aside)
                raise

    def put(self, data):
        """The server sees all of it or nothing."""
        try:
            self.replace(data)
        except OSError as e:
            raise Failed('cannot write %s: %s' % (self.path, e.strerror))
        self.last = data

    def replace(self, data):
        fd, new = tempfile.mkstemp(prefix='.narwhal-tune-',
                                   dir=os.path.dirname(self.path))
        try:
            with open(fd, 'wb') as f:
                f.write(data)
            was, now = os.stat(self.path), os.stat(new)
            shutil.copystat(self.path, new)
            os.utime(new)
            if (was.st_uid, was.st_gid) != (now.st_uid, now.st_gid):
                os.chown(new, was.st_uid, was.st_gid)
            self.must_be_ours()
            os.rename(new, self.path)
        except BaseException:
            os.unlink(new)
            raise

    def must_be_ours(self):
        if self.read() != self.last:
            raise Failed('%s was changed by somebody else meanwhile'
                         % self.path)

    def keep(self):
        """What was put last stays."""
        with open(self.path, 'rb') as f:
            os.fsync(f.fileno())
        os.unlink(self.aside)
        self.kept = True

    def is_untouched(self):
        """Asked of the file: what put() knows may lag behind a signal."""
        return os.path.samefile(self.path, self.aside) or (
            os.stat(self.path).st_ino == self.file and
            self.read() == self.original)

    def restore(self):
        """As it was.  Says in words why that cannot be, if it cannot."""
        try:
            if self.is_untouched():
                os.unlink(self.aside)   # rename would do nothing with two
                return                  # names of one file
            self.must_be_ours()
            os.rename(self.aside, self.path)
            self.last = self.original
        except OSError as e:
            raise Failed('CANNOT RESTORE %s: %s; %s is the file from before'
                         % (self.path, e.strerror, self.aside))
        except Failed as e:
            raise Failed('%s: it is left as it is; %s is the file from before'
                         % (e, self.aside))
