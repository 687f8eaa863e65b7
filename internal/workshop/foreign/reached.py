#!/usr/bin/env python3
"""Prints on how many operations of the document Schemathesis got a response with a 2xx, and with a 5xx.

usage: reached.py EVENTS, which are those of --report-ndjson-path
"""

import json
import sys

successes, failures, documented = set(), set(), set()
for line in open(sys.argv[1], encoding="utf-8"):
    recorder = json.loads(line).get("ScenarioFinished", {}).get("recorder", {})
    documented.add(recorder.get("label"))
    cases = recorder.get("cases", {})
    for number, interaction in recorder.get("interactions", {}).items():
        response = interaction.get("response")
        if not response or number not in cases:
            continue
        case = cases[number]["value"]
        operation = f"{case['method']} {case['path']}"
        status = response["status_code"]
        if 200 <= status < 300:
            successes.add(operation)
        elif status >= 500:
            failures.add(operation)
# It tries methods that the document does not have, too.
print(f"2xx: {len(successes & documented)} operations, 5xx: {len(failures & documented)} operations")
