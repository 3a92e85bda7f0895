"""Answers with the request as JSON, in the form the request corpus wants.

wsgiref.validate stands round it; only the wsgi.input of the server itself has
read() without a size, so the size is always given.
"""
import base64
import json
from wsgiref.validate import validator


def fields(environ):
    for key, value in environ.items():
        if key in ('CONTENT_TYPE', 'CONTENT_LENGTH'):
            yield [key.replace('_', '-'), value]
        elif key.startswith('HTTP_'):
            yield [key[5:].replace('_', '-'), value]


def echo(environ, start_response):
    parts = iter(lambda: environ['wsgi.input'].read(1000), b'')
    text = json.dumps({
        'method': environ['REQUEST_METHOD'],
        'target': environ['RAW_URI'],
        'version': environ['SERVER_PROTOCOL'],
        'headers': list(fields(environ)), 'headers_form': 'cgi',
        'body_b64': base64.b64encode(b''.join(parts)).decode(),
        'trailers': [list(t) for t in environ['narwhal.trailers']()],
    }).encode()
    start_response('200 OK', [('Content-Type', 'application/json'),
                              ('Content-Length', str(len(text)))])
    return [text]


app = validator(echo)
