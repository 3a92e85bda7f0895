"""A systemd unit, started without systemd.

What the unit grants and what it forbids is done as systemd does it: an account
made up for it, its folders, a root that is read-only but for these, no
capabilities, and a filter of system calls.
"""
import ctypes
import os
import signal
import socket
import subprocess

UID = 61400  # of the range of dynamic users
FOLDERS = {'RuntimeDirectory': '/run', 'StateDirectory': '/var/lib',
           'LogsDirectory': '/var/log'}
CLONE_NEWNS, MS_RDONLY, MS_REMOUNT, MS_BIND = 0x20000, 1, 32, 4096
PR_CAPBSET_DROP, PR_SET_NO_NEW_PRIVS = 24, 38
EPERM, SCMP_ACT_ALLOW, SCMP_ACT_ERRNO = 1, 0x7fff0000, 0x00050000
libc = ctypes.CDLL(None, use_errno=True)


def check(result):
    if result:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def call_sets():
    """-> the members of each group of system calls"""
    sets, name = {}, None
    for line in subprocess.run(['systemd-analyze', 'syscall-filter'],
                               check=True, capture_output=True,
                               text=True).stdout.splitlines():
        word = line.strip()
        if line.startswith('@'):
            name = word
            sets[name] = []
        elif word and not word.startswith('#') and name:
            sets[name].append(word)
    return sets


def members(sets, name):
    if not name.startswith('@'):
        return {name}
    return set().union(*(members(sets, m) for m in sets[name]))


class Filter:
    """seccomp, as SystemCallFilter= wants it"""

    def __init__(self, words):
        sets, self.allowed = call_sets(), set()
        for word in words:
            if word.startswith('~'):
                self.allowed -= members(sets, word[1:])
            else:
                self.allowed |= members(sets, word) | members(sets, '@default')
        self.lib = ctypes.CDLL('libseccomp.so.2')
        self.lib.seccomp_init.restype = ctypes.c_void_p

    def load(self):
        context = ctypes.c_void_p(
            self.lib.seccomp_init(SCMP_ACT_ERRNO | EPERM))
        for name in self.allowed:
            number = self.lib.seccomp_syscall_resolve_name(name.encode())
            if number >= 0:
                self.lib.seccomp_rule_add(context, SCMP_ACT_ALLOW, number, 0)
        check(self.lib.seccomp_load(context))


class Unit:
    def __init__(self, root, name):
        self.root, self.name, self.process = root, name, None
        self.set = {}
        for line in root.read('usr/lib/systemd/system/' + name).splitlines():
            key, equals, value = line.partition('=')
            if equals and not key.startswith('#'):
                self.set.setdefault(key, []).append(value)
        assert self.set['DynamicUser'] == ['yes']
        assert self.set['ProtectSystem'] == ['strict']
        assert self.set['CapabilityBoundingSet'] == ['']
        self.filter = Filter(self.set['SystemCallFilter'])

    def make_folders(self):
        """As of a dynamic user: in private/, with a link beside it."""
        for key, base in FOLDERS.items():
            name = self.set[key][0]
            real = base if base == '/run' else base + '/private'
            os.makedirs(self.root / real, exist_ok=True)
            if real != base:
                os.chmod(self.root / real, 0o700)
                if not os.path.lexists(self.root / (base + '/' + name)):
                    os.symlink('private/' + name,
                               self.root / (base + '/' + name))
            folder = real + '/' + name
            os.makedirs(self.root / folder, exist_ok=True)
            os.chown(self.root / folder, UID, UID)
            yield folder

    def mount_alone(self, path):
        """Writable; of what else is in private/ nothing is seen."""
        source = os.open(path, os.O_PATH)
        base = os.path.dirname(path)
        if os.path.basename(base) == 'private':
            check(libc.mount(b'tmpfs', base.encode(), b'tmpfs', 0,
                             b'mode=0755'))
            os.mkdir(path)
        check(libc.mount(b'/proc/self/fd/%d' % source, path.encode(), None,
                         MS_BIND, None))
        os.close(source)

    def confine(self):
        """In the child, before its program."""
        check(libc.unshare(CLONE_NEWNS))
        for folder in self.folders:
            self.mount_alone(self.root / folder)
        for path in self.root.path, self.root / 'run':
            check(libc.mount(None, path.encode(), None,
                             MS_REMOUNT | MS_BIND | MS_RDONLY, None))
        self.root.enter()
        for capability in range(64):
            libc.prctl(PR_CAPBSET_DROP, capability, 0, 0, 0)
        os.setgroups([])
        os.setresgid(UID, UID, UID)
        os.setresuid(UID, UID, UID)
        check(libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
        self.filter.load()

    def spawn(self, command):
        env = {'PATH': '/usr/local/bin:/usr/bin:/bin', 'LANG': 'C.UTF-8',
               'NOTIFY_SOCKET': '/run/notify'}
        if self.process:
            env['MAINPID'] = str(self.process.pid)
        argv = [word.replace('$MAINPID', env.get('MAINPID', ''))
                for word in command.split()]
        return subprocess.Popen(argv, env=env, stdin=subprocess.DEVNULL,
                                stdout=self.journal, stderr=self.journal,
                                preexec_fn=self.confine)

    def start(self):
        self.folders = list(self.make_folders())
        self.journal = open(self.root / 'run/journal', 'ab')
        self.notify = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.notify.bind(self.root / 'run/notify')
        os.chmod(self.root / 'run/notify', 0o777)
        self.notify.settimeout(60)
        (command,) = self.set['ExecStart']
        self.process = self.spawn(command)
        self.root.write('run/mainpid', '%d\n' % self.process.pid)
        self.hear('READY=1')

    def hear(self, want):
        while want not in self.notify.recv(4096).decode().split('\n'):
            pass

    def reload(self):
        """-> whether all commands of ExecReload were successful"""
        for command in self.set['ExecReload']:
            if self.spawn(command).wait(60):
                return False
        self.hear('RELOADING=1')
        self.hear('READY=1')
        return True

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        status = self.process.wait(60)
        self.notify.close()
        os.unlink(self.root / 'run/notify')
        self.process = None
        return status
