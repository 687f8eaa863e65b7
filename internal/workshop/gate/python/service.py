"""Keeps notes in memory: python3 service.py"""

import itertools
import json
import re
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

notes = {}
ids = itertools.count(1)


def is_integer(value):
    return isinstance(value, (int, float)) and not isinstance(value, bool) and value == int(value)


def note_of(text):
    """Returns the members of a new note, or raises ValueError."""
    body = json.loads(text)
    if not isinstance(body, dict):
        raise ValueError("the body must be an object")
    note = {"text": body.get("text"), "stars": body.get("stars", 0)}
    if not isinstance(note["text"], str) or not 1 <= len(note["text"]) <= 200:
        raise ValueError("text must have 1 to 200 characters")
    if not is_integer(note["stars"]) or not 0 <= note["stars"] <= 5:
        raise ValueError("stars must be an integer from 0 to 5")
    return note


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # otherwise each response waits 40 ms between its headers and its body

    def answer(self, status, body=None, allow=None):
        text = b"" if body is None else json.dumps(body).encode()
        self.send_response(status)
        if body is not None:
            self.send_header("Content-Type", "application/json")
        if allow:
            self.send_header("Allow", allow)
        if status != 204:
            self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(text)

    def handle_any(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        path = self.path.split("?")[0]
        if path == "/notes":
            return self.handle_notes(body)
        if match := re.fullmatch("/notes/([^/]+)", path):
            return self.handle_note(match[1])
        return self.answer(404, {"message": "no such path"})

    def handle_notes(self, body):
        if self.command == "GET":
            return self.answer(200, [notes[id] for id in sorted(notes)])
        if self.command != "POST":
            return self.answer(405, {"message": "no such method"}, allow="GET, POST")
        if self.headers.get_content_type() != "application/json":
            return self.answer(415, {"message": "the body must be application/json"})
        try:
            note = note_of(body)
        except ValueError as wrong:
            return self.answer(400, {"message": str(wrong)})
        note = {"id": next(ids), **note}
        notes[note["id"]] = note
        return self.answer(201, note)

    def handle_note(self, id):
        if self.command not in ("GET", "DELETE"):
            return self.answer(405, {"message": "no such method"}, allow="GET, DELETE")
        if not re.fullmatch("[1-9][0-9]*", id):
            return self.answer(400, {"message": "the id must be an integer from 1"})
        note = notes.get(int(id)) if self.command == "GET" else notes.pop(int(id), None)
        if note is None:
            return self.answer(404, {"message": "no such note"})
        return self.answer(200, note) if self.command == "GET" else self.answer(204)

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = do_HEAD = do_OPTIONS = do_TRACE = handle_any

    def log_message(self, *args):
        pass


ThreadingHTTPServer(("127.0.0.1", 8080), Handler).serve_forever()
