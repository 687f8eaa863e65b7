#!/usr/bin/env python3
"""Prints the causes of a report, and compares them with known.txt. It exits with 1 for a cause that is not known, and for
a known one that was not found, unless its reason begins with "at times".

It compares the ids that a report shows. The ids of --baseline are others: they have the operation, too.

usage: compare.py SERVICE REPORT, which is that of --json
"""

import json
import pathlib
import sys

service, report = sys.argv[1:]
known = {}
for line in pathlib.Path(__file__).with_name("known.txt").read_text(encoding="utf-8").splitlines():
    fields = line.split(maxsplit=2)
    if fields[0] == service:
        known[fields[1]] = fields[2]

failed = False
for cause in json.loads(pathlib.Path(report).read_text(encoding="utf-8"))["causes"]:
    reason = known.pop(cause["id"], None)
    line = f"[{cause['id']}] {cause['cause']}, {cause['count']} times at {len(cause['places'])} places"
    if reason:
        print(f"{line}; known: {reason}")
        continue
    failed = True
    print(line)
    print("  broken:", cause["message"])
    print("  sent:  ", cause.get("request"))
    if response := cause.get("response"):
        print("  got:   ", response["status"], repr(response["body"][:500]))
for id, reason in known.items():
    print(f"known, but not found this time: {id} {reason}")
    failed = failed or not reason.startswith("at times")
sys.exit(failed)
