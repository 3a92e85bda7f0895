"""A Flask application that takes an upload whole and says how long it took."""
import time

from flask import Flask, jsonify, request

app = Flask(__name__)


@app.post('/upload')
def upload():
    began = time.perf_counter()
    data = request.get_data()
    return jsonify(received_bytes=len(data),
                   process_seconds=time.perf_counter() - began)
