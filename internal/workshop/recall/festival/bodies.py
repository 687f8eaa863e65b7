"""What the bodies and parameters of requests may have."""
import datetime
import re


class Refused(Exception):
    """A request that the document does not allow."""

    def __init__(self, status, text, headers=()):
        super().__init__(text)
        self.status, self.headers = status, headers


# What a body may have: for each member a function that returns the value or raises Refused.


def text(most):
    def check(name, value):
        if not isinstance(value, str) or not 1 <= len(value) <= most:
            raise Refused(400, f"{name} must be a text of 1 to {most} characters")
        return value
    return check


def one_of(*values):
    def check(name, value):
        if not isinstance(value, str) or value not in values:
            raise Refused(400, f"{name} must be one of {', '.join(values)}")
        return value
    return check


def number(least, most, whole=False):
    def check(name, value):
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not least <= value <= most:
            raise Refused(400, f"{name} must be a number from {least} to {most}")
        if whole and value != int(value):
            raise Refused(400, f"{name} must be an integer")
        return int(value) if whole else value
    return check


def boolean(name, value):
    if not isinstance(value, bool):
        raise Refused(400, f"{name} must be true or false")
    return value


def date(name, value):
    if not isinstance(value, str) or not re.fullmatch(r"20[0-9]{2}-[0-9]{2}-[0-9]{2}", value):
        raise Refused(400, f"{name} must be a date of this century")
    try:
        datetime.date.fromisoformat(value)
    except ValueError as problem:
        raise Refused(400, f"{name} must be a date") from problem
    return value


LANGUAGE = one_of("en", "de", "fr", "ja")
FORMAT = one_of("film", "digital", "live")
VENUE = text(40)
PRICE = number(0, 500)

SCREENING = {
    "title": text(80), "subtitle": text(80), "organiser": text(40), "venue": VENUE, "language": LANGUAGE, "format": FORMAT,
    "opens": date, "closes": date, "minutes": number(1, 900, whole=True), "price": PRICE, "withGuest": boolean,
}
SCREENING_NEEDS = ("title", "organiser", "venue", "language", "format", "opens", "closes", "minutes", "price")
HALL = {"name": text(60), "seats": number(1, 5000, whole=True), "hasLift": boolean}
HALL_NEEDS = ("name", "seats")
TICKET = {"holder": text(60), "row": number(1, 99, whole=True), "seat": number(1, 99, whole=True)}
TICKET_NEEDS = ("holder", "seat")
NOTICE = {"text": text(200), "phone": text(20), "validFrom": date, "validUntil": date}
NOTICE_NEEDS = ("text", "validFrom", "validUntil")


def checked(body, members, needed, others_allowed=False):
    """The members of a body that the document has, or Refused."""
    if not isinstance(body, dict):
        raise Refused(400, "the body must be an object")
    for name in needed:
        if name not in body:
            raise Refused(400, f"{name} is missing")
    if not others_allowed and body.keys() - members.keys():
        raise Refused(400, "the body has a member that the document does not have")
    return {name: members[name](name, value) for name, value in body.items() if name in members}
