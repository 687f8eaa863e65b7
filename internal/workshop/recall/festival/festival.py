"""Screenings, halls, tickets and notices of a film festival, in memory, as openapi.yaml says; or with a fault.

    python3 festival.py -list
    python3 festival.py -port N [-fault NAME]

Only the standard library is used. A fault is a name in faults.py, and one `self.fault(...)` here.
"""
import argparse
import itertools
import json
import re
import threading
import urllib.parse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from bodies import (FORMAT, HALL, HALL_NEEDS, LANGUAGE, NOTICE, NOTICE_NEEDS, PRICE, SCREENING, SCREENING_NEEDS, TICKET,
                    TICKET_NEEDS, VENUE, Refused, checked, date)
from faults import FAULTS

class Festival:
    def __init__(self, wrong=""):
        self.wrong = wrong
        self.lock = threading.Lock()
        self.ids = itertools.count(1)
        self.screenings, self.halls, self.tickets, self.listed_still = {}, {}, {}, {}

    def fault(self, name):
        assert name in FAULTS, name
        return self.wrong == name

    def add_screening(self, body):
        new = checked(body, SCREENING, SCREENING_NEEDS)
        if self.fault("dates-swapped"):
            new["opens"], new["closes"] = new["closes"], new["opens"]
        if self.fault("closes-copied"):
            new["closes"] = new["opens"]
        if self.fault("subtitle-dropped"):
            new.pop("subtitle", None)
        if self.fault("false-dropped") and not new.get("withGuest"):
            new.pop("withGuest", None)
        if self.fault("price-rounded"):
            new["price"] = round(new["price"])
        if self.fault("organiser-is-venue"):
            new["organiser"] = new["venue"]
        if self.fault("language-constant"):
            new["language"] = "en"
        if self.fault("minutes-capped"):
            new["minutes"] = min(new["minutes"], 200)
        new["id"] = next(self.ids)
        self.screenings[new["id"]] = new
        return 201, new

    def list_screenings(self, query):
        found = list(self.screenings.values())
        if self.fault("list-keeps"):
            found += self.listed_still.values()
        language, form, venue = query.get("language"), query.get("format"), query.get("venue")
        if language == "ja" and self.fault("language-never"):
            found = []
        if self.fault("format-ignored") or (language and self.fault("second-filter-lost")):
            form = None
        if form == "live" and self.fault("format-as-film"):
            form = "film"
        if language and form and self.fault("filters-or"):
            found = [one for one in found if one["language"] == language or one["format"] == form]
        else:
            found = [one for one in found if language in (None, one["language"]) and form in (None, one["format"])]
        if venue is not None:
            found = [one for one in found if self.is_at(one["venue"], venue)]
        return 200, [one for one in found if self.is_in_range(one, query)]

    def is_at(self, venue, asked):
        if self.fault("venue-by-prefix"):
            return venue.startswith(asked)
        if self.fault("venue-by-suffix"):
            return venue.endswith(asked)
        if self.fault("venue-contains"):
            return asked in venue
        if self.fault("venue-without-case"):
            return venue.lower() == asked.lower()
        return venue == asked

    def is_in_range(self, one, query):
        first, last = query.get("from"), query.get("to")
        least, most = query.get("minPrice"), query.get("maxPrice")
        day = one["closes"] if self.fault("from-by-closes") else one["opens"]
        if first is not None and (day < first or (day == first and self.fault("from-exclusive"))):
            return False
        if last is not None and not (first is not None and self.fault("to-ignored-with-from")):
            if one["opens"] > last or (one["opens"] == last and self.fault("to-exclusive")):
                return False
        if least is not None and (one["price"] < least or (one["price"] == least and self.fault("min-price-exclusive"))):
            return False
        return most is None or one["price"] <= most or self.fault("max-price-ignored")

    def screening(self, screening_id):
        if screening_id not in self.screenings:
            raise Refused(404, "no screening has this id")
        return self.screenings[screening_id]

    def put_screening(self, screening_id, body):
        old, new = self.screening(screening_id), checked(body, SCREENING, SCREENING_NEEDS)
        if self.fault("put-loses-subtitle"):
            new.pop("subtitle", None)
        if self.fault("put-keeps-closes"):
            new["closes"] = old["closes"]
        new["id"] = screening_id
        self.screenings[screening_id] = new
        return 200, new

    def patch_screening(self, screening_id, body):
        old, changes = self.screening(screening_id), checked(body, SCREENING, ())
        if self.fault("patch-changes-both") and "opens" in changes:
            changes["closes"] = changes["opens"]
        self.screenings[screening_id] = {**old, **changes}
        return 200, self.screenings[screening_id]

    def delete_screening(self, screening_id):
        gone = self.screening(screening_id)
        if self.fault("screening-stays"):
            return 204, None
        if self.fault("another-deleted"):
            screening_id = max(self.screenings)
        self.listed_still[screening_id] = gone
        del self.screenings[screening_id]
        self.tickets = {key: value for key, value in self.tickets.items() if key[0] != screening_id}
        return 204, None

    def add_hall(self, body):
        new = checked(body, HALL, HALL_NEEDS)
        new["id"] = next(self.ids)
        self.halls[new["id"]] = new
        return 201, {**new, "name": new["name"][:10]} if self.fault("hall-name-cut") else new

    def delete_hall(self, hall_id):
        if hall_id not in self.halls:
            raise Refused(404, "no hall has this id")
        if not self.fault("hall-stays"):
            del self.halls[hall_id]
        return 204, None

    def add_ticket(self, screening_id, body):
        self.screening(screening_id)
        new = checked(body, TICKET, TICKET_NEEDS, others_allowed=True)
        new["id"] = next(self.ids)
        self.tickets[screening_id, new["id"]] = new
        return 201, {**new, "row": 1} if self.fault("ticket-row-one") and "row" in new else new

    def delete_ticket(self, screening_id, ticket_id):
        if (screening_id, ticket_id) not in self.tickets:
            raise Refused(404, "this screening has no ticket with this id")
        if not self.fault("ticket-stays"):
            del self.tickets[screening_id, ticket_id]
        return 204, None

    def add_notice(self, body):
        new = checked(body, NOTICE, NOTICE_NEEDS, others_allowed=True)
        new["id"] = next(self.ids)  # it is sent to the visitors, and not kept
        if self.fault("notice-without-phone"):
            new.pop("phone", None)
        if self.fault("notice-dates-swapped"):
            new["validFrom"], new["validUntil"] = new["validUntil"], new["validFrom"]
        return 201, new

    def respond(self, method, path, query, body):
        """The status and the value of a response. body is a function, since not every request has one."""
        match [method, *path]:
            case ["GET", "screenings"]:
                return self.list_screenings(parameters(query))
            case ["POST", "screenings"]:
                return self.add_screening(body())
            case ["GET", "screenings", one]:
                return 200, self.screening(identifier(one))
            case ["PUT", "screenings", one]:
                return self.put_screening(identifier(one), body())
            case ["PATCH", "screenings", one]:
                return self.patch_screening(identifier(one), body())
            case ["DELETE", "screenings", one]:
                return self.delete_screening(identifier(one))
            case ["POST", "screenings", one, "tickets"]:
                return self.add_ticket(identifier(one), body())
            case ["DELETE", "screenings", one, "tickets", ticket]:
                return self.delete_ticket(identifier(one), identifier(ticket))
            case ["GET", "halls"]:
                return 200, list(self.halls.values())
            case ["POST", "halls"]:
                return self.add_hall(body())
            case ["DELETE", "halls", one]:
                return self.delete_hall(identifier(one))
            case ["POST", "notices"]:
                return self.add_notice(body())
        allowed = methods_at(path)
        if not allowed:
            raise Refused(404, "there is nothing at this path")
        raise Refused(405, "the method is not allowed", [("Allow", allowed)])


def methods_at(path):
    match path:
        case ["screenings"] | ["halls"]:
            return "GET, HEAD, POST"
        case ["screenings", _]:
            return "GET, HEAD, PUT, PATCH, DELETE"
        case ["screenings", _, "tickets"] | ["notices"]:
            return "POST"
        case ["screenings", _, "tickets", _] | ["halls", _]:
            return "DELETE"
    return ""


def identifier(value):
    if not value:
        raise Refused(404, "there is nothing at this path")
    if not re.fullmatch(r"[1-9][0-9]{0,8}", value):
        raise Refused(400, "an id must be an integer from 1 to 999999999")
    return int(value)


def decimal(name, value):
    if not re.fullmatch(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?", value, re.ASCII):
        raise Refused(400, f"{name} must be a number")
    return PRICE(name, float(value))


PARAMETERS = {
    "language": LANGUAGE, "format": FORMAT, "venue": VENUE, "from": date, "to": date, "minPrice": decimal, "maxPrice": decimal,
}


def parameters(query):
    """The known parameters of a list. Others are ignored."""
    try:
        given = urllib.parse.parse_qs(query, keep_blank_values=True, errors="strict")
    except ValueError as problem:
        raise Refused(400, "the query is not UTF-8") from problem
    found = {}
    for name, values in given.items():
        if name in PARAMETERS:
            if len(values) > 1:
                raise Refused(400, f"{name} is given more than once")
            found[name] = PARAMETERS[name](name, values[0])
    return found


# --- HTTP

LARGEST = 1 << 20  # bytes of a body


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1  # the header and the body of a response are sent together: otherwise each waits for 40 ms
    disable_nagle_algorithm = True
    festival = Festival()

    def __getattr__(self, name):
        if name.startswith("do_"):
            return self.handle_any
        raise AttributeError(name)

    def handle_any(self):
        raw = self.read_body()
        headers = []
        try:
            method = "GET" if self.command == "HEAD" else self.command
            address = urllib.parse.urlsplit(self.path)
            path = [urllib.parse.unquote(part, errors="strict") for part in address.path.split("/")[1:]]
            with self.festival.lock:
                status, value = self.festival.respond(method, path, address.query, lambda: self.decoded(raw))
        except Refused as refused:
            status, value, headers = refused.status, {"error": str(refused)}, refused.headers
        except ValueError:
            status, value = 400, {"error": "the path is not UTF-8"}
        self.send(status, value, headers)

    def read_body(self):
        """The body, or None if it is too large or its length is unknown. Then the connection ends."""
        length = self.headers.get("Content-Length", "0")
        if "Transfer-Encoding" in self.headers or not length.isascii() or not length.isdigit() or int(length) > LARGEST:
            self.close_connection = True
            return None
        return self.rfile.read(int(length))

    def decoded(self, raw):
        if self.headers.get_content_type() != "application/json" or "Content-Type" not in self.headers:
            raise Refused(415, "the Content-Type must be application/json")
        if raw is None:
            raise Refused(413, f"a body needs a Content-Length of at most {LARGEST}")
        try:
            return json.loads(raw.decode(), parse_constant=no_constant)
        except (ValueError, RecursionError) as problem:
            raise Refused(400, "the body is not JSON") from problem

    def send(self, status, value, headers):
        content = b"" if value is None else json.dumps(value).encode()
        self.send_response(status)
        for name, text_of_header in headers:
            self.send_header(name, text_of_header)
        if status != 204:
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    def log_message(self, *_):
        pass


def no_constant(name):
    raise ValueError(name)


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128


def main():
    flags = argparse.ArgumentParser()
    flags.add_argument("-list", action="store_true")
    flags.add_argument("-port", type=int, default=0)
    flags.add_argument("-fault", default="", choices=["", *FAULTS])
    given = flags.parse_args()
    if given.list:
        for name, (group, breaks) in FAULTS.items():
            print(group, name, breaks, sep="\t")
        return
    Handler.festival = Festival(given.fault)
    Server(("127.0.0.1", given.port), Handler).serve_forever()


if __name__ == "__main__":
    main()
