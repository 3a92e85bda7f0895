"""What /proc tells of processes: who is narwhal's master, who listens where.

SIGHUP ends a process that does not expect it, so it is only sent to one that
is known to be a master of narwhal.
"""
import os
import re
import socket
import sys

from tune.stop import Failed

LISTEN = '0A'                   # of /proc/net/tcp
ACCEPTS = 0x10000               # of /proc/net/unix


def read(path):
    with open(path, 'rb') as f:
        return f.read()


def exe(pid):
    """(device, inode) of its program, which stays if the file is replaced."""
    s = os.stat('/proc/%d/exe' % pid)
    return s.st_dev, s.st_ino


def program(pid):
    name = os.readlink('/proc/%d/exe' % pid)
    return os.path.basename(name.replace(' (deleted)', ''))


def parent(pid):
    return int(re.search(rb'^PPid:\s*(\d+)', read('/proc/%d/status' % pid),
                         re.M).group(1))


def is_narwhal(pid):
    try:
        return program(pid).startswith('narwhal')
    except OSError:
        return False


def is_worker(pid):
    try:
        return is_narwhal(pid) and exe(parent(pid)) == exe(pid)
    except OSError:
        return False


def check_master(pid):
    try:
        os.kill(pid, 0)
        name = program(pid)
    except ProcessLookupError:
        raise Failed('there is no process %d' % pid)
    except FileNotFoundError:
        raise Failed('there is no process %d, or it is none of a program'
                     % pid)
    except PermissionError:
        raise Failed("process %d is another user's: run this as that user, or "
                     "as root" % pid)
    if not is_narwhal(pid):
        raise Failed("process %d is '%s', not narwhal" % (pid, name))
    if is_worker(pid):
        raise Failed('process %d is a worker; its master is %d'
                     % (pid, parent(pid)))


# ---- the file it reads ----

def config_path(pid):
    """The INI file as far as its arguments tell, or None."""
    args = read('/proc/%d/cmdline' % pid).rstrip(b'\0').decode(
        'utf-8', 'surrogateescape').split('\0')
    title = re.match(r'narwhal: master \[(.*)\]', args[0])
    path = title.group(1) if title else option(args[1:])
    if path is None:
        return None
    return os.path.join(os.readlink('/proc/%d/cwd' % pid), path)


def option(args):
    path = 'narwhal.ini'
    for i, arg in enumerate(args):
        if arg in ('-c', '--config'):
            path = args[i + 1]
        elif arg.startswith('--config='):
            path = arg[len('--config='):]
        elif arg.startswith('-c'):
            path = arg[2:]
    return path


def check_reads(pid, ini):
    """Complain if it certainly reads another file."""
    try:
        path = config_path(pid)
        if path is None or os.path.samefile(path, ini):
            return
    except (OSError, IndexError):
        return
    raise Failed('process %d reads %s, not %s' % (pid, path, ini))


# ---- who listens ----

def words(data):
    """An address as /proc/net has it: words in the order of the machine."""
    out = ''
    for i in range(0, len(data), 4):
        out += '%08X' % int.from_bytes(data[i:i + 4], sys.byteorder)
    return out


def tcp_inodes(family, host, port):
    """Sockets that listen at this address, the wildcard's among them."""
    packed = socket.inet_pton(family, host)
    wanted = {words(packed): 1, words(bytes(len(packed))): 1}
    tables = ['tcp' if family == socket.AF_INET else 'tcp6']
    if family == socket.AF_INET:        # one for both families
        wanted[words(bytes(16))] = 1
        tables.append('tcp6')
    found = set()
    for table in tables:
        try:
            lines = read('/proc/net/' + table).decode().splitlines()[1:]
        except OSError:
            continue
        for field in map(str.split, lines):
            address, _, number = field[1].rpartition(':')
            if field[3] == LISTEN and address in wanted and \
                    int(number, 16) == port:
                found.add(field[9])
    return found


def unix_inodes(path):
    path, found = os.path.abspath(path), set()
    for line in read('/proc/net/unix').decode(
            'utf-8', 'surrogateescape').splitlines()[1:]:
        field = line.split(None, 7)
        if len(field) == 8 and int(field[3], 16) & ACCEPTS and \
                os.path.abspath(field[7]) == path:
            found.add(field[6])
    return found


def inodes(address):
    """address: (family, what connect() takes)."""
    family, where = address
    if family == socket.AF_UNIX:
        return unix_inodes(where)
    return tcp_inodes(family, where[0], where[1])


def holds(pid, found):
    """Has it one of these sockets open, as far as we may look?"""
    links = {'socket:[%s]' % inode for inode in found}
    folder = '/proc/%d/fd' % pid
    try:
        return any(os.readlink(os.path.join(folder, fd)) in links
                   for fd in os.listdir(folder))
    except OSError:
        return False


def masters():
    pids = [int(name) for name in os.listdir('/proc') if name.isdigit()]
    return [p for p in pids if is_narwhal(p) and not is_worker(p)]


def master_listening(addresses):
    """The one master of narwhal that listens at one of these."""
    found = set().union(*map(inodes, addresses))
    listening = [p for p in masters() if holds(p, found)]
    if len(listening) == 1:
        return listening[0]
    if listening:
        raise Failed('several masters listen there (%s): say which with --pid'
                     % ', '.join(map(str, listening)))
    raise Failed(
        'no master of narwhal was found %s: name it with --pid, and run this '
        'as its user or as root' % (
            'among those who listen there' if found else 'that listens there'))
