"""A server to be tuned, and narwhal-tune on its way."""
import os
import subprocess
import threading

from client import fetch
from server import OUT, PATIENCE, Server

TUNE = os.path.join(OUT, 'narwhal-tune')


class Tuned(Server):
    """Serves with an INI file of the test's own, byte for byte."""

    def __init__(self, text, **more):
        self.text = text.encode()
        super().__init__(None, **more)

    def write_ini(self):
        with open(self.ini_path, 'wb') as f:
            f.write(self.text)

    def ini(self):
        with open(self.ini_path, 'rb') as f:
            return f.read()

    def url(self, path='/'):
        return 'http://127.0.0.1:%d%s' % (self.port, path)

    def files(self):
        return sorted(os.listdir(self.folder))


class Tune:
    """narwhal-tune for the server's file."""

    def __init__(self, server, *options, url=None):
        self.process = subprocess.Popen(
            [TUNE, server.ini_path, url or server.url(), *options],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True)

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        if self.process.poll() is None:
            self.process.kill()
        self.process.communicate()

    def wait_step(self, text):
        for line in self.process.stderr:
            if text in line:
                return
        raise AssertionError('narwhal-tune ended before: ' + text)

    def end(self):
        """(exit status, stdout, stderr from here on)"""
        out, err = self.process.communicate(timeout=PATIENCE * 3)
        return self.process.returncode, out, err


def tune(server, *options, url=None):
    with Tune(server, *options, url=url) as t:
        return t.end()


class Load:
    """Other clients of the server, until the block ends."""

    def __init__(self, server, path, body, clients):
        self.server, self.path, self.body = server, path, body
        self.served, self.failures, self.over = 0, [], threading.Event()
        self.threads = [threading.Thread(target=self.run)
                        for _ in range(clients)]

    def run(self):
        while not self.over.wait(0.005):
            try:
                r = fetch(self.server, 'POST', self.path, self.body)
                if r.status != 200 or not r.complete:
                    self.failures.append(r)
                self.served += 1
            except Exception as e:
                self.failures.append(e)

    def __enter__(self):
        for t in self.threads:
            t.start()
        return self

    def __exit__(self, *exc):
        self.over.set()
        for t in self.threads:
            t.join()
