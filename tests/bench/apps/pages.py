"""The WSGI applications of the benchmarks, a callable each."""
import os

CHUNK = b'x' * 1024
PIECE = b'x' * 1024 * 1024


def hello(environ, start_response):
    start_response('200 OK', [('Content-Type', 'text/plain'),
                              ('Content-Length', '13')])
    return [b'Hello, World!']


def chunks(environ, start_response):
    """As many chunks of 1 KiB as the query says, by a generator."""
    count = int(environ['QUERY_STRING'] or 1024)
    start_response('200 OK', [('Content-Type', 'text/plain')])
    return (CHUNK for _ in range(count))


def piece(environ, start_response):
    start_response('200 OK', [('Content-Type', 'text/plain'),
                              ('Content-Length', str(len(PIECE)))])
    return [PIECE]


def file(environ, start_response):
    path = os.environ['BENCH_FILE']
    start_response('200 OK', [('Content-Type', 'text/plain'),
                              ('Content-Length', str(os.path.getsize(path)))])
    return environ['wsgi.file_wrapper'](open(path, 'rb'))


def echo(environ, start_response):
    """The body back, read 1024 bytes at a time, as src/apps/echo.c does."""
    read = environ['wsgi.input'].read
    start_response('200 OK', [('Content-Type', 'text/plain')])
    return iter(lambda: read(1024), b'')


def upload(environ, start_response):
    text = b'%d' % len(environ['wsgi.input'].read())
    start_response('200 OK', [('Content-Type', 'text/plain'),
                              ('Content-Length', str(len(text)))])
    return [text]
