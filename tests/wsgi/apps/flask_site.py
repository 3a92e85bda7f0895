"""A Flask application: uploads in three ways, streams, errors, sessions."""
import time

from flask import Flask, Response, jsonify, request, session, \
    stream_with_context

app = Flask(__name__)
app.secret_key = 'for tests'


def answer(n, began):
    response = jsonify(received_bytes=n,
                       process_seconds=time.perf_counter() - began)
    response.headers['X-Received-Length'] = str(n)
    return response


@app.post('/data')
def data():
    began = time.perf_counter()
    return answer(len(request.get_data()), began)


@app.post('/stream')
def stream():
    began, n = time.perf_counter(), 0
    while True:
        block = request.stream.read(65536)
        if not block:
            return answer(n, began)
        n += len(block)


@app.post('/files')
def files():
    began = time.perf_counter()
    f = request.files['file']
    f.seek(0, 2)
    return answer(f.tell(), began)


@app.post('/form')
def form():
    return jsonify(request.form.to_dict(flat=False))


@app.get('/count')
def count():
    session['n'] = session.get('n', 0) + 1
    return jsonify(n=session['n'], scheme=request.scheme, url=request.url)


@app.get('/events')
def events():
    def produce():
        for i in range(5):
            yield 'data: %d\n\n' % i
    return Response(stream_with_context(produce()),
                    mimetype='text/event-stream')


@app.get('/fail')
def fail():
    raise RuntimeError('in a view')


@app.get('/send')
def send():
    from flask import send_file
    return send_file(__file__, conditional=True)
