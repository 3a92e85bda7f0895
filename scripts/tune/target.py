"""Which server, which log: what the INI file and the options tell of it."""
import os
import re
import socket

from tune import proc
from tune.client import resolve
from tune.stop import Failed

SECONDS = {'ms': 0.001, 's': 1, '': 1, 'm': 60, 'h': 3600}


def beside(path, name):
    """Relative paths in the file start from its folder."""
    return os.path.join(os.path.dirname(os.path.abspath(path)), name)


def log_path(path, ini):
    name = ini.get('error-log') or '-'
    if name == '-':
        raise Failed('%s logs to standard error (error-log): name the file '
                     'that is sent to with --log' % path)
    return beside(path, name)


def check_level(path, ini):
    line = ini.find('log-level')
    if line and line.value() in ('error', 'warning'):
        raise Failed(
            '%s:%d: at log-level %s the log does not tell when a reload is '
            'done: set it to info for the time of tuning'
            % (path, line.number, line.value()))


def patience(ini):
    """Seconds until a reload must be done: load, and let the old ones go."""
    text = ini.get('graceful-timeout') or '30s'
    match = re.fullmatch(r'(\d+)(ms|s|m|h|)', text)
    graceful = int(match.group(1)) * SECONDS[match.group(2)] if match else 30
    return 120 + graceful


def bound(path, ini):
    """[(family, address)] of what the file binds, as far as it is said."""
    found = []
    for item in re.split(r'[,\s]+', ini.get('bind') or '127.0.0.1:8000'):
        tcp = re.fullmatch(r'\[?(.*?)\]?:([1-9]\d*)', item)
        if item.startswith('unix:'):
            found.append((socket.AF_UNIX, beside(path, item[5:])))
        elif tcp and not item.startswith('fd:'):
            found += resolve(tcp.group(1), int(tcp.group(2)))
    return found


def from_pidfile(path, ini):
    name = ini.get('pidfile')
    if not name:
        return None
    try:
        with open(beside(path, name)) as f:
            return int(f.read())
    except (OSError, ValueError):
        return None


def find_master(path, ini, addresses):
    """addresses: those of the URL, for a file that does not name its own."""
    pid = from_pidfile(path, ini)
    if pid is None:
        pid = proc.master_listening(bound(path, ini) or addresses)
    return pid
