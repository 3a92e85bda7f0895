"""life.py FOLDER DEB: install, start, reload, rotate, upgrade, remove, purge."""
import filecmp
import glob
import os
import re
import shutil
import sys
import time
import traceback
import urllib.request

from root import Root
from unit import UID, Unit

INI = '/etc/narwhal/narwhal.ini'
PAGE = """def app(environ, start_response):
    start_response('200 OK', [])
    return [b'python']
"""
# What is written whatever the package, and by whatever program.
NOT_OURS = re.compile(
    r'/var/(lib/(dpkg|logrotate|systemd)|cache/(man|ldconfig)|log/dpkg.log)|'
    r'/etc/ld.so.cache$|/var/(lib|log)/private$|/usr/bin/systemctl$|'
    r'/etc/systemd/system/sockets.target.wants$')


def is_as_before(root, name):
    """The machine has it too."""
    new = root / name
    if not os.path.lexists(new) or os.path.isdir(new) and os.path.isdir(name):
        return True
    return os.path.isfile(name) and filecmp.cmp(name, new, shallow=False)


def get():
    with urllib.request.urlopen('http://127.0.0.1:8000/', timeout=60) as r:
        return r.read()


def wait_for(what):
    end = time.monotonic() + 60
    while not what():
        assert time.monotonic() < end, 'it never came'
        time.sleep(0.01)


class Life:
    def __init__(self, folder, deb):
        self.root = root = Root(folder)
        root.be_under_systemd()
        shutil.copy(deb, root / 'tmp/narwhal.deb')
        # A reinstallation on a machine that has it is none of ours.
        root.call('dpkg', '--purge', 'narwhal')
        root.asked()

    def dpkg(self, *args):
        self.root.must('dpkg', '--force-unsafe-io', *args)

    def log(self, name):
        return '/var/log/narwhal/' + name

    def edit(self, old, new):
        text = self.root.read(INI)
        assert old in text, '%s: no %r' % (INI, old)
        self.root.write(INI, text.replace(old, new, 1))

    def installs(self):
        self.dpkg('--install', '/tmp/narwhal.deb')
        version = self.root.must('dpkg-query', '-Wf', '${Version}', 'narwhal')
        assert self.root.must('narwhal', '--version') == \
            'narwhal %s\n' % version
        assert self.root.must('dpkg', '--verify', 'narwhal') == ''
        self.root.must('narwhal', '-c', INI, '-t')
        self.root.must('narwhal-tune', '--help')

    def surprises_nobody(self):
        asked = self.root.asked()
        assert asked == ['--system daemon-reload'], asked
        assert not glob.glob(self.root / 'etc/systemd/system/**/*narwhal*',
                             recursive=True)
        assert 'narwhal' not in self.root.read('etc/passwd')

    def has_units_in_order(self):
        units = [os.path.join('/usr/lib/systemd/system', 'narwhal.' + kind)
                 for kind in ('service', 'socket')]
        out = self.root.must('systemd-analyze', 'verify', *units)
        assert 'narwhal' not in out, out

    def starts(self):
        self.unit = Unit(self.root, 'narwhal.service')
        self.unit.start()
        assert get() == b'Hello, World!'
        with open('/proc/%d/status' % self.unit.process.pid) as f:
            status = f.read()
        assert '\nUid:\t%d\t%d\t' % (UID, UID) in status, status
        assert '\nSeccomp:\t2\n' in status, status

    def reloads(self):
        os.makedirs(self.root / 'srv/site')
        self.root.write('srv/site/page.py', PAGE)
        self.edit('app = so:hello', 'app = page:app')
        assert not self.unit.reload(), 'it has not checked the file'
        self.edit('; pythonpath', 'pythonpath')
        self.edit('; access-log', 'access-log')
        self.edit('error-log = -', 'error-log = ' + self.log('error.log'))
        assert self.unit.reload()
        assert get() == b'python'

    def rotates(self):
        def lines(name):
            return self.root.read(self.log(name)).count('\n')

        assert lines('access.log') == 1
        self.root.must('logrotate', '--force', '/etc/logrotate.d/narwhal')
        new = [self.root / self.log(kind) for kind in
               ('access.log', 'error.log')]
        wait_for(lambda: all(map(os.path.exists, new)))
        wait_for(lambda: lines('error.log') > 0)
        get()
        wait_for(lambda: lines('access.log') == 1)
        assert lines('access.log.1') == 1
        assert all(os.stat(name).st_uid == UID for name in new)
        self.root.asked()

    def upgrades(self):
        """What was edited stays; systemd is asked to restart what runs."""
        self.dpkg('--install', '/tmp/narwhal.deb')
        assert self.log('error.log') in self.root.read(INI)
        asked = self.root.asked()
        assert 'try-restart narwhal.service' in asked, asked
        assert not [a for a in asked if re.match('(en|un)?(able|mask)', a)]
        assert get() == b'python'

    def stops(self):
        assert self.unit.stop() == 0
        self.root.asked()

    def is_removed(self):
        self.dpkg('--remove', 'narwhal')
        assert any(a.startswith('stop narwhal.socket narwhal.service')
                   for a in self.root.asked())
        assert self.root.call('sh', '-c', 'command -v narwhal')[0] != 0
        for name in INI, '/etc/logrotate.d/narwhal', self.log('access.log'):
            assert os.path.exists(self.root / name), name + ' is gone'
        self.dpkg('--install', '/tmp/narwhal.deb')
        assert self.log('error.log') in self.root.read(INI)

    def is_purged(self):
        wants = self.root / 'etc/systemd/system/sockets.target.wants'
        os.makedirs(wants, exist_ok=True)
        os.symlink('/usr/lib/systemd/system/narwhal.socket',
                   wants + '/narwhal.socket')
        self.dpkg('--purge', 'narwhal')
        assert not os.path.lexists(wants + '/narwhal.socket')
        shutil.rmtree(self.root / 'srv/site')
        assert self.root.call('dpkg-query', '-s', 'narwhal')[0] != 0
        left = [name for name in self.root.changed()
                if not NOT_OURS.match(name)
                and not is_as_before(self.root, name)]
        assert not left, left
        assert not glob.glob(self.root / 'run/*narwhal*')

    def installs_again(self):
        self.installs()
        assert 'app = so:hello' in self.root.read(INI)
        self.dpkg('--purge', 'narwhal')


def main():
    life = Life(*sys.argv[1:])
    for step in (life.installs, life.surprises_nobody, life.has_units_in_order,
                 life.starts, life.reloads, life.rotates, life.upgrades,
                 life.stops, life.is_removed, life.is_purged,
                 life.installs_again):
        print('package:', step.__name__.replace('_', ' '), flush=True)
        try:
            step()
        except Exception:
            traceback.print_exc()
            journal = life.root / 'run/journal'
            if os.path.exists(journal):
                print(open(journal).read()[-4000:])
            return 1
    return 0


if __name__ == '__main__':
    sys.exit(main())
