#!/usr/bin/python3
"""Replay a request corpus against tests/apps/conformance.c.

    conformance.py OUT DIR

OUT is the build folder; DIR has replay.py and *.jsonl.  The server listens on
a socket bound here, so no port has to be guessed.
"""
import glob
import os
import signal
import socket
import subprocess
import sys
import tempfile

INI = """
[app]
app = so:{out}/tests/conformance.so
[server]
bind = fd:{fd}
workers = 2
[timeouts]
header-timeout = 5s
body-timeout = 5s
"""


def start(out, folder):
    """-> the server and its port, once it is ready"""
    listener = socket.create_server(('127.0.0.1', 0))
    ready = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    ready.bind(folder + '/notify')
    ready.settimeout(60)
    ini = folder + '/narwhal.ini'
    with open(ini, 'w') as f:
        f.write(INI.format(out=out, fd=listener.fileno()))
    env = dict(os.environ, NOTIFY_SOCKET=folder + '/notify')
    server = subprocess.Popen(
        [out + '/narwhal', '-c', ini], env=env,
        pass_fds=[listener.fileno()])
    while b'READY=1' not in ready.recv(4096):
        pass
    return server, listener.getsockname()[1]


def main():
    out, corpus = map(os.path.abspath, sys.argv[1:])
    files = sorted(glob.glob(corpus + '/*.jsonl'))
    if not files:
        sys.exit('conformance: no *.jsonl in ' + corpus)
    failed = False
    with tempfile.TemporaryDirectory() as folder:
        server, port = start(out, folder)
        try:
            for mode in 'whole', 'bytes', 'random':
                print('conformance, %s:' % mode, flush=True)
                failed |= subprocess.run(
                    [sys.executable, corpus + '/replay.py', '--mode', mode,
                     '--strict', '127.0.0.1:%d' % port] + files).returncode != 0
        finally:
            server.send_signal(signal.SIGTERM)
            failed |= server.wait(60) != 0
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
