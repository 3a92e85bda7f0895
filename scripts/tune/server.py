"""The running server: told to reload, and waited for until it has."""
import os
import re
import select
import signal
import time

from tune import proc
from tune.stop import Failed

SOON = 20.0             # until the log says that a reload has begun
LOOK = 0.01             # a log cannot be waited for, so it is looked at


class Refused(Failed):
    """The server did not take the file; it serves on as before."""


class Server:
    """patience: seconds that a reload may take."""

    def __init__(self, pid, log, stop, patience):
        proc.check_master(pid)
        self.pid, self.log, self.stop = pid, log, stop
        self.patience = patience
        self.late = None
        # Of this process, whoever gets its number later.
        self.fd = os.pidfd_open(pid)
        self.poller = stop.poller()
        self.poller.register(self.fd, select.POLLIN)

    def reload(self):
        """SIGHUP.  Returns the server's remarks once the file is in force."""
        self.lines()
        try:
            signal.pidfd_send_signal(self.fd, signal.SIGHUP)
        except PermissionError:
            raise Failed('SIGHUP to process %d is not permitted' % self.pid)
        except ProcessLookupError:
            self.gone()
        progress = Progress(self.log.path)
        began = time.monotonic()
        while not progress.done:
            if self.stop.wait(self.poller, LOOK):
                self.gone()
            for level, text in self.lines():
                progress.take(level, text)
            self.check_time(progress, time.monotonic() - began)
        return progress.remarks

    def check_time(self, progress, seconds):
        if not progress.begun and seconds > SOON:
            raise Failed(
                'SIGHUP was sent, but %s says nothing of it: is it the error '
                'log of process %d, at log-level info?'
                % (self.log.path, self.pid))
        if seconds > self.patience:
            raise Failed('the reload is not done after %.0f s, see %s'
                         % (seconds, self.log.path))

    def gone(self):
        raise Failed('the server (process %d) is gone, see %s'
                     % (self.pid, self.log.path))

    def lines(self):
        """[(level, message)] that the master has logged since."""
        mine = [(level, text) for pid, level, text in self.log.lines()
                if pid == self.pid]
        for level, text in mine:
            if re.match('worker .* has not left in time', text):
                self.late = text
        return mine

    def check_calm(self):
        """Has a reload cut somebody's request?  Then none must follow."""
        self.lines()
        if self.late:
            raise Failed(
                'a request took longer than graceful-timeout and was cut by a '
                'reload (%s); see LONG REQUESTS in narwhal-tune(1)'
                % self.late)


class Progress:
    """What the log says of a reload, line by line."""

    def __init__(self, log_path):
        self.log_path = log_path
        self.begun = self.done = False
        self.generation = None
        self.remarks, self.faults = [], []

    def take(self, level, text):
        if text == 'reload: started':
            # Perhaps not the first one, if another SIGHUP came close to it.
            self.__init__(self.log_path)
            self.begun = True
        elif self.begun:
            self.take_more(level, text)

    def take_more(self, level, text):
        on_trial = re.match(r'reload: generation (\d+) is on trial', text)
        done = re.match(r'reload done: generation (\d+)', text)
        if on_trial:
            self.generation = int(on_trial.group(1))
        elif done and self.generation is not None:
            self.done = int(done.group(1)) >= self.generation
        elif text.startswith('reload refused: '):
            raise Refused('\n'.join(
                self.faults + ['the server refused the file (%s), see %s' % (
                    text[len('reload refused: '):].split(';')[0],
                    self.log_path)]))
        elif level == 'error':
            self.faults.append(text)
        elif text.startswith('reload: '):
            self.remarks.append(text[len('reload: '):])
