"""Ends the event streams of the service, which Schemathesis would read for ever, and leaves out headers of its own that break a request."""

import requests
import schemathesis


def first_part(response, **_):
    if response.headers.get("Content-Type") == "text/event-stream":
        response._content = next(response.iter_content(65536), b"")
        response._content_consumed = True
        response.close()


original = requests.Session.__init__


def with_hook(session, *args, **kwargs):
    original(session, *args, **kwargs)
    session.hooks["response"].append(first_part)


requests.Session.__init__ = with_hook


# Schemathesis adds headers to requests that it calls valid. One called Content-Type takes the place of the real one.
@schemathesis.hook
def map_headers(ctx, headers):
    return {name: value for name, value in (headers or {}).items() if name.lower() != "content-type"}
