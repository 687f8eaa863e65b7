"""Shows that the service is right, and that each fault can be seen by a client."""
import json
import unittest

from faults import FAULTS
from festival import Festival, Refused

SCREENING = {
    "title": "Night", "subtitle": "a film", "organiser": "Ann", "venue": "Old Mill", "language": "ja", "format": "live",
    "opens": "2026-03-01", "closes": "2026-03-04", "minutes": 250, "price": 7.5, "withGuest": False,
}


class Client:
    def __init__(self, wrong):
        self.festival = Festival(wrong)

    def send(self, method, path, body=None):
        path, _, query = path.partition("?")
        try:
            status, value = self.festival.respond(method, path.split("/")[1:], query, lambda: body)
        except Refused as refused:
            return refused.status, str(refused)
        return status, json.loads(json.dumps(value))

    def add(self, **changes):
        return self.send("POST", "/screenings", {**SCREENING, **changes})[1]["id"]

    def stored(self, **changes):
        """Whether a new screening is read as it was sent."""
        one = self.add(**changes)
        return self.send("GET", f"/screenings/{one}") == (200, {**SCREENING, **changes, "id": one})

    def finds(self, query, *expected):
        return self.send("GET", f"/screenings?{query}") == (200, [self.send("GET", f"/screenings/{one}")[1] for one in expected])


def put_is_stored(client):
    one = client.add()
    changed = {**SCREENING, "closes": "2026-05-01"}
    client.send("PUT", f"/screenings/{one}", changed)
    return client.send("GET", f"/screenings/{one}")[1] == {**changed, "id": one}


def patch_changes_one(client):
    one = client.add()
    client.send("PATCH", f"/screenings/{one}", {"opens": "2026-02-01"})
    return client.send("GET", f"/screenings/{one}")[1] == {**SCREENING, "opens": "2026-02-01", "id": one}


def filters_equal(client):
    one, other = client.add(), client.add(language="de", format="film")
    third = client.add(language="ja", format="film")
    return all((
        client.finds("language=ja", one, third), client.finds("format=live", one), client.finds("format=film", other, third),
        client.finds("language=ja&format=film", third),
    ))


def venue_is_equal(client):
    one = client.add()
    for venue in ("Old Mill 2", "The Old Mill", "old mill", "An Old Mill 2"):
        client.add(venue=venue)
    return client.finds("venue=Old+Mill", one)


def ranges_have_edges(client):
    one, other = client.add(), client.add(opens="2026-03-03", price=9)
    return all((
        client.finds("from=2026-03-03", other), client.finds("to=2026-03-01", one), client.finds("from=2026-03-01&to=2026-03-02", one),
        client.finds("minPrice=9", other), client.finds("maxPrice=7.5", one),
    ))


def echo(path, body):
    def check(client):
        status, value = client.send("POST", path, body)
        value.pop("id")
        return status == 201 and value == body
    return check


NOTICE = {"text": "Rain", "phone": "1234", "validFrom": "2026-03-01", "validUntil": "2026-03-02"}


def ticket(client):
    path = f"/screenings/{client.add()}/tickets"
    status, value = client.send("POST", path, {"holder": "Bob", "row": 3, "seat": 4})
    return status == 201 and value["row"] == 3 and gone(client, f"{path}/{value['id']}")


def gone(client, path):
    return client.send("DELETE", path)[0] == 204 and client.send("DELETE", path)[0] == 404


def deleted(client):
    one = client.add()
    client.add()
    path = f"/screenings/{one}"
    is_gone = gone(client, path) and client.send("GET", path)[0] == 404
    return is_gone and len(client.send("GET", "/screenings")[1]) == 1


def hall_deleted(client):
    one = client.send("POST", "/halls", {"name": "Great", "seats": 4})[1]["id"]
    return gone(client, f"/halls/{one}") and client.send("GET", "/halls")[1] == []


CHECKS = {
    "put-loses-subtitle": put_is_stored, "put-keeps-closes": put_is_stored, "patch-changes-both": patch_changes_one,
    "language-never": filters_equal, "format-ignored": filters_equal, "format-as-film": filters_equal,
    "filters-or": filters_equal, "second-filter-lost": filters_equal,
    "notice-without-phone": echo("/notices", NOTICE), "notice-dates-swapped": echo("/notices", NOTICE),
    "hall-name-cut": echo("/halls", {"name": "The Great Hall", "seats": 4}),
    "ticket-row-one": ticket, "ticket-stays": ticket,
    "screening-stays": deleted, "another-deleted": deleted, "list-keeps": deleted, "hall-stays": hall_deleted,
}
OF_GROUP = {"members and dates": Client.stored, "filters of equal values": venue_is_equal, "ranges": ranges_have_edges}


class TestFaults(unittest.TestCase):
    def test_each_fault(self):
        for name, (group, _) in FAULTS.items():
            with self.subTest(name):
                check = CHECKS.get(name) or OF_GROUP[group]
                self.assertTrue(check(Client("")), "the right service fails")
                self.assertFalse(check(Client(name)), "the fault does not show")


class TestRight(unittest.TestCase):
    def test_refused(self):
        client = Client("")
        one = client.add()
        for method, path, body, status in (
            ("POST", "/screenings", {**SCREENING, "opens": "2026-02-30"}, 400),
            ("POST", "/screenings", {**SCREENING, "minutes": True}, 400),
            ("POST", "/screenings", {**SCREENING, "more": 1}, 400),
            ("POST", "/screenings", [], 400),
            ("GET", "/screenings?price=1&from=2026", None, 400),
            ("GET", "/screenings?venue=a&venue=b", None, 400),
            ("GET", "/screenings/0", None, 400),
            ("GET", f"/screenings/{one + 1}", None, 404),
            ("POST", "/screenings/999/tickets", {"holder": "Bob", "seat": 4}, 404),
            ("PUT", "/halls/1", None, 405),
            ("GET", "/nothing", None, 404),
        ):
            self.assertEqual(client.send(method, path, body)[0], status, (method, path, body))


if __name__ == "__main__":
    unittest.main()
