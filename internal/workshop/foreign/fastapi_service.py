"""Items in memory, as the tutorial of FastAPI makes them. The document is what FastAPI derives."""

from enum import Enum
from typing import Annotated, Literal, Union

from fastapi import FastAPI, Header, HTTPException, Path, Query
from pydantic import BaseModel, Field


class Kind(str, Enum):
    tool = "tool"
    toy = "toy"


class Size(BaseModel):
    width: float = Field(gt=0, le=100)
    height: float = Field(gt=0, le=100)


class NewItem(BaseModel):
    name: str = Field(min_length=1, max_length=50)
    description: str | None = None
    price: float = Field(ge=0)
    tags: list[str] = Field(default=[], max_length=4)
    kind: Kind = Kind.tool
    size: Size | None = None
    extra: Union[int, list[int], None] = None
    fixed: Literal["yes"] = "yes"


class Item(NewItem):
    id: int


app = FastAPI(title="Items")
items: dict[int, Item] = {}


@app.get("/items")
def list_items(limit: Annotated[int, Query(ge=1, le=100)] = 10, kind: Kind | None = None) -> list[Item]:
    return [i for i in items.values() if kind is None or i.kind == kind][:limit]


@app.post("/items", status_code=201)
def create_item(item: NewItem) -> Item:
    made = Item(id=len(items) + 1, **item.model_dump())
    items[made.id] = made
    return made


def find(id: int) -> Item:
    if id not in items:
        raise HTTPException(404, "no such item")
    return items[id]


@app.get("/items/{id}", responses={404: {"description": "No such item."}})
def read_item(id: Annotated[int, Path(ge=1)], x_trace: Annotated[str | None, Header()] = None) -> Item:
    return find(id)


@app.put("/items/{id}", responses={404: {"description": "No such item."}})
def replace_item(id: int, item: NewItem) -> Item:
    find(id)
    items[id] = Item(id=id, **item.model_dump())
    return items[id]


@app.patch("/items/{id}", responses={404: {"description": "No such item."}})
def change_item(id: int, change: dict) -> Item:
    items[id] = find(id).model_copy(update=change)
    return items[id]


@app.delete("/items/{id}", status_code=204, responses={404: {"description": "No such item."}})
def delete_item(id: int) -> None:
    find(id)
    del items[id]
