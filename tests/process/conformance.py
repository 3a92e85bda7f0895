#!/usr/bin/python3
"""Replay a request corpus against tests/apps/conformance.c.

    conformance.py [--through nginx] [-v] OUT DIR

OUT is the build folder; DIR has replay.py and *.jsonl.  The server listens on
a socket bound here, so no port has to be guessed.  How nginx changes what can
be asked is in conformance_nginx.py.
"""
import argparse
import glob
import os
import signal
import socket
import subprocess
import sys
import tempfile

SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(
    os.path.abspath(__file__))))
INI = """
[app]
app = so:{out}/tests/conformance.so
[server]
bind = fd:{fd}
workers = 2
keepalive = {keepalive}
[timeouts]
header-timeout = 5s
body-timeout = 5s
"""


def start(out, folder, keepalive):
    """-> the server and its port, once it is ready"""
    listener = socket.create_server(('127.0.0.1', 0))
    ready = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    ready.bind(folder + '/notify')
    ready.settimeout(60)
    ini = folder + '/narwhal.ini'
    with open(ini, 'w') as f:
        f.write(INI.format(out=out, fd=listener.fileno(),
                           keepalive=keepalive))
    env = dict(os.environ, NOTIFY_SOCKET=folder + '/notify')
    server = subprocess.Popen(
        [out + '/narwhal', '-c', ini], env=env,
        pass_fds=[listener.fileno()])
    while b'READY=1' not in ready.recv(4096):
        pass
    return server, listener.getsockname()[1]


def replay_directly(corpus, port, files):
    """-> whether anything was wrong"""
    failed = False
    for mode in 'whole', 'bytes', 'random':
        print('conformance, %s:' % mode, flush=True)
        failed |= subprocess.run(
            [sys.executable, corpus + '/replay.py', '--mode', mode,
             '--strict', '127.0.0.1:%d' % port] + files).returncode != 0
    return failed


def replay_through_nginx(out, corpus, folder, port, files, verbose):
    sys.dont_write_bytecode = True
    sys.path.insert(0, corpus)
    import conformance_nginx
    import replay
    return conformance_nginx.run(replay, SOURCE, out, folder, port, files,
                                 verbose)


def main():
    ap = argparse.ArgumentParser(usage=__doc__)
    ap.add_argument('--through', choices=['nginx'])
    ap.add_argument('-v', '--verbose', action='store_true')
    ap.add_argument('out', type=os.path.abspath)
    ap.add_argument('corpus', type=os.path.abspath)
    args = ap.parse_args()
    out, corpus = args.out, args.corpus
    files = sorted(glob.glob(corpus + '/*.jsonl'))
    if not files:
        sys.exit('conformance: no *.jsonl in ' + corpus)
    with tempfile.TemporaryDirectory() as folder:
        # nginx keeps idle connections; they must not end here first.
        server, port = start(out, folder, '75s' if args.through else '5s')
        try:
            failed = replay_through_nginx(
                out, corpus, folder, port, files, args.verbose) \
                if args.through else replay_directly(corpus, port, files)
        finally:
            server.send_signal(signal.SIGTERM)
            failed |= server.wait(60) != 0
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
