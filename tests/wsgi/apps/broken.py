"""Cannot be imported."""
import os

print('importing')


def deep():
    raise LookupError('on purpose')


if os.environ.get('MENDED') != 'yes':
    deep()


def app(e, sr):
    sr('200 OK', [('Content-Type', 'text/plain')])
    return [b'mended']
