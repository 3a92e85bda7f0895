"""A root that can be spoilt: this machine's, with a layer over it.

Used by one process, in a mount and network namespace of its own.  As a program
it tries whether that can be had.
"""
import fcntl
import os
import socket
import struct
import subprocess
import sys

# What a supervisor is asked for is only written down; `kill` is performed.
SYSTEMCTL = """#!/bin/sh
echo "$*" >>/run/asked
case $* in
"kill --kill-whom=main --signal=USR1 narwhal.service")
	kill -USR1 "$(cat /run/mainpid)" ;;
is-active*) exit 3 ;;
esac
"""


def mount(*args):
    done = subprocess.run(('mount',) + args, stderr=subprocess.PIPE, text=True)
    if done.returncode:
        sys.exit('no overlay of /: ' + done.stderr.strip())


def raise_loopback():
    with socket.socket() as s:
        fcntl.ioctl(s, 0x8914, struct.pack('16sH14x', b'lo', 1))  # up


class Root:
    def __init__(self, folder):
        mount('-t', 'tmpfs', 'tmpfs', folder)
        self.layer, self.path = folder + '/layer', folder + '/root'
        for name in self.layer, folder + '/work', self.path:
            os.mkdir(name)
        mount('-t', 'overlay', 'overlay', '-o', 'lowerdir=/,upperdir=%s,'
              'workdir=%s/work' % (self.layer, folder), self.path)
        mount('-t', 'proc', 'proc', self / 'proc')
        mount('--rbind', '/dev', self / 'dev')
        mount('-t', 'tmpfs', 'tmpfs', self / 'run')
        mount('-t', 'tmpfs', 'tmpfs', self / 'tmp')
        os.chmod(self / 'run', 0o755)
        self.drop('var/lib/man-db/auto-update')  # it takes seconds
        raise_loopback()

    def __truediv__(self, name):
        return self.path + '/' + name.lstrip('/')

    def be_under_systemd(self):
        os.makedirs(self / 'run/systemd/system')
        self.write('usr/bin/systemctl', SYSTEMCTL)
        self.drop('usr/sbin/policy-rc.d')

    def asked(self):
        """-> what systemctl was called with since the last time"""
        try:
            lines = self.read('run/asked').splitlines()
        except FileNotFoundError:
            return []
        os.unlink(self / 'run/asked')
        return lines

    def drop(self, name):
        if os.path.lexists(self / name):
            os.unlink(self / name)

    def read(self, name):
        with open(self / name) as f:
            return f.read()

    def write(self, name, text):
        """A file that was there keeps its mode, a new one can be executed."""
        new = not os.path.exists(self / name)
        with open(self / name, 'w') as f:
            f.write(text)
        if new:
            os.chmod(self / name, 0o755)

    def enter(self):
        os.chroot(self.path)
        os.chdir('/')

    def call(self, *argv):
        """-> status and all output"""
        done = subprocess.run(
            argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True, preexec_fn=self.enter)
        return done.returncode, done.stdout

    def must(self, *argv):
        status, out = self.call(*argv)
        assert status == 0, '%s: status %d\n%s' % (' '.join(argv), status, out)
        return out

    def changed(self):
        """-> names in the layer: what is there beside the machine's own"""
        return {os.path.join(folder, name)[len(self.layer):]
                for folder, folders, files in os.walk(self.layer)
                for name in folders + files}


if __name__ == '__main__':
    Root(sys.argv[1])
