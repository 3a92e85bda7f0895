"""Signals raise a flag; whoever waits looks at it.

Nothing is ever interrupted between two instructions, so no moment exists in
which the settings could be forgotten: we stop where we wait, and only there.
"""
import os
import select
import signal

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)


class Failed(Exception):
    """Why the work cannot go on, in words for the user."""


class Interrupted(Exception):
    def __init__(self, number):
        super().__init__(signal.Signals(number).name)
        self.number = number


class Stop:
    def __init__(self):
        self.number = None
        self.wake, write = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        signal.set_wakeup_fd(write, warn_on_full_buffer=False)
        for number in SIGNALS:
            signal.signal(number, self.heed)

    def heed(self, number, frame):
        self.number = number

    def check(self):
        if self.number is not None:
            raise Interrupted(self.number)

    def forget(self):
        """What came so far has been heard; the next one counts again."""
        self.number = None
        try:
            os.read(self.wake, 4096)
        except BlockingIOError:
            pass

    def poller(self):
        """A poll object that a signal wakes up too; for use with wait()."""
        poller = select.poll()
        poller.register(self.wake, select.POLLIN)
        return poller

    def wait(self, poller, seconds):
        """[(descriptor, event)]; empty when time is up."""
        while True:
            self.check()
            ready = poller.poll(seconds * 1000)
            self.check()
            others = [r for r in ready if r[0] != self.wake]
            if others or not ready:
                return others
