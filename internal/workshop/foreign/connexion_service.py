"""The petstore of the OpenAPI examples on connexion, which reads requests by the document."""

import itertools
import sys
from pathlib import Path

import connexion
import uvicorn

pets = {}
ids = itertools.count(1)


def findPets(tags=None, limit=None):
    return [p for p in pets.values() if tags is None or p.get("tag") in tags][:limit]


def addPet(body):
    pet = {"id": next(ids), **body}
    pets[pet["id"]] = pet
    return pet


def findPetByID(id):
    return pets.get(id) or ({"code": 404, "message": "no such pet"}, 404)


def deletePet(id):
    if pets.pop(id, None) is None:
        return {"code": 404, "message": "no such pet"}, 404
    return None, 204


app = connexion.AsyncApp(__name__, specification_dir=".")
app.add_api(Path(sys.argv[1]), resolver=connexion.Resolver(globals().__getitem__), strict_validation=True)
uvicorn.run(app, host="127.0.0.1", port=int(sys.argv[2]), log_level="critical")
