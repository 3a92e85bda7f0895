"""The demo that conf/narwhal.ini serves: a WSGI application to play with.

Nothing but the standard library, so it runs wherever narwhal does.
"""
import html
import json
import os
import platform
import time

BLOCK = 1 << 20         # how much of an upload is asked for at a time
STREAM_SECONDS = 20     # an event stream holds a worker, so it has an end

STARTED = time.time()
served = 0              # by this worker

PAGE = """<!DOCTYPE html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>narwhal</title>
<link rel="icon" href="data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16'%3E%3Ctext y='13' font-size='13'%3E%F0%9F%90%B3%3C/text%3E%3C/svg%3E">
<style>
:root { color-scheme: light dark; --line: #8886; --accent: #0a7ea4 }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 46rem; margin: 2rem auto; padding: 0 1rem }
h1 { margin: 0 } h1 + p { margin-top: 0; opacity: .75 }
h2 { margin: 2rem 0 .5rem; font-size: 1.1rem }
table { border-collapse: collapse; width: 100% }
th, td { text-align: left; padding: .25rem .75rem .25rem 0; border-bottom: 1px solid var(--line); font-weight: normal }
td, pre, code, output { font-family: ui-monospace, monospace; font-size: .9em }
form { display: flex; gap: .75rem; flex-wrap: wrap; align-items: center }
button { font: inherit; padding: .3rem 1rem; border: 0; border-radius: .4rem; background: var(--accent); color: #fff; cursor: pointer }
output, pre { display: block; min-height: 1.5em; margin: .75rem 0; white-space: pre-wrap }
a { color: var(--accent) }
</style>
<h1>narwhal</h1>
<p>The unicorn of the C: a pre-fork HTTP server with two knobs.</p>

<h2>What runs</h2>
<table>{{facts}}</table>

<h2>Settings in force</h2>
<table>{{settings}}</table>
<p>Edit <code>conf/narwhal.ini</code>, then <code>kill -HUP {{master}}</code> and reload this page.</p>

<h2>Upload</h2>
<form id="upload" action="/upload" method="post" enctype="multipart/form-data">
<input type="file" name="file" required aria-label="File to upload"> <button>Upload</button>
</form>
<output id="measured" for="upload"></output>

<h2>More</h2>
<ul>
<li><a href="/echo?hello=narwhal">/echo</a>: the request, or the body of a POST, back to you
<li><a href="/stream" id="stream">/stream</a>: an event each second, {{seconds}} seconds long
</ul>
<pre id="events"></pre>
<script>
const show = (id, text) => document.getElementById(id).textContent = text;
document.getElementById('upload').onsubmit = async e => {
  e.preventDefault();
  const file = e.target.file.files[0];
  show('measured', 'uploading ...');
  try {
    const began = performance.now();
    const r = await fetch('/upload', {method: 'POST', body: file});
    const m = await r.json(), all = (performance.now() - began) / 1000;
    show('measured', `${m.received_bytes} bytes received; the server read them in ` +
      `${m.process_seconds.toFixed(4)} s (${(m.received_bytes / 1e6 / m.process_seconds).toFixed(0)} MB/s); ` +
      `the whole exchange took ${all.toFixed(4)} s`);
  } catch (error) {
    show('measured', String(error));
  }
};
document.getElementById('stream').onclick = e => {
  e.preventDefault();
  const events = new EventSource('/stream'), lines = [];
  events.onmessage = m => show('events', (lines.push(m.data), lines.join('\\n')));
  events.onerror = () => events.close();
};
</script>
</html>
"""


def rows(pairs):
    return ''.join('<tr><th>%s<td>%s' % (html.escape(k), html.escape(str(v)))
                   for k, v in pairs)


def answer(start_response, status, kind, body, headers=()):
    start_response(status, [('Content-Type', kind),
                            ('Content-Length', str(len(body))), *headers])
    return [body]


def index(environ, start_response):
    facts = [
        ('server', environ['SERVER_SOFTWARE']),
        ('application', 'demo:app, WSGI'),
        ('Python', '%s %s' % (platform.python_implementation(),
                              platform.python_version())),
        ('worker', 'process %d, up %.0f s, request %d of this worker' % (
            os.getpid(), time.time() - STARTED, served)),
        ('you', '%s port %s, %s' % (
            environ['REMOTE_ADDR'] or 'a local socket',
            environ['REMOTE_PORT'] or '-', environ['SERVER_PROTOCOL'])),
    ]
    page = PAGE
    for name, text in (
            ('facts', rows(facts)), ('master', str(os.getppid())),
            ('settings', rows(environ.get('narwhal.settings', {}).items())),
            ('seconds', str(STREAM_SECONDS))):
        page = page.replace('{{%s}}' % name, text)
    return answer(start_response, '200 OK', 'text/html; charset=utf-8',
                  page.encode())


def upload(environ, start_response):
    """Read it all and say how much it was and how long that took."""
    if environ['REQUEST_METHOD'] not in ('POST', 'PUT'):
        return answer(start_response, '405 Method Not Allowed', 'text/plain',
                      b'POST or PUT a body here.\n', [('Allow', 'POST, PUT')])
    began, received = time.perf_counter(), 0
    while block := environ['wsgi.input'].read(BLOCK):
        received += len(block)
    body = json.dumps({'received_bytes': received, 'process_seconds':
                       time.perf_counter() - began}).encode() + b'\n'
    return answer(start_response, '200 OK', 'application/json', body,
                  [('X-Received-Length', str(received))])


def echo(environ, start_response):
    """A body goes back as it comes; without one the request is shown."""
    if environ.get('CONTENT_LENGTH', '0') == '0' and \
            'HTTP_TRANSFER_ENCODING' not in environ:
        lines = ['%s %s %s' % (environ['REQUEST_METHOD'],
                               environ['REQUEST_URI'],
                               environ['SERVER_PROTOCOL'])]
        lines += ['%s: %s' % (k[5:].replace('_', '-').title(), v)
                  for k, v in environ.items() if k.startswith('HTTP_')]
        return answer(start_response, '200 OK', 'text/plain',
                      '\n'.join(lines).encode('latin-1') + b'\n')
    start_response('200 OK', [('Content-Type', environ.get(
        'CONTENT_TYPE', 'application/octet-stream'))])
    return iter(lambda: environ['wsgi.input'].read(65536), b'')


def stream(environ, start_response):
    start_response('200 OK', [('Content-Type', 'text/event-stream'),
                              ('Cache-Control', 'no-store')])

    def events():
        for i in range(STREAM_SECONDS):
            yield b'data: event %d of %d, at %s\n\n' % (
                i + 1, STREAM_SECONDS, time.strftime('%X').encode())
            time.sleep(1)
    return events()


PATHS = {'/': index, '/upload': upload, '/echo': echo, '/stream': stream}


def app(environ, start_response):
    global served
    served += 1
    page = PATHS.get(environ['PATH_INFO'])
    if page:
        return page(environ, start_response)
    return answer(start_response, '404 Not Found', 'text/plain',
                  b'Nothing here.\n')
