"""Cannot be imported; HOW says why not."""
import os
import signal

print('importing')


def deep():
    raise LookupError('on purpose')


if os.environ.get('HOW') == 'exit':
    os._exit(7)
if os.environ.get('HOW') == 'signal':
    signal.signal(signal.SIGSEGV, signal.SIG_DFL)   # a sanitizer may have it
    os.kill(os.getpid(), signal.SIGSEGV)
if os.environ.get('MENDED') != 'yes':
    deep()


def app(e, sr):
    sr('200 OK', [('Content-Type', 'text/plain')])
    return [b'mended']
