// A client in TypeScript. It is not run: make client-check generates types from
// api/openapi.yaml and checks that this file compiles with them, so that the
// document stays useful for other languages than Go.
import type { components, operations, paths } from "./plantstore";

type NewPlant = components["schemas"]["NewPlant"];
type StoredPlant = components["schemas"]["StoredPlant"];
type PlantError = components["schemas"]["Error"];
type ErrorCode = components["schemas"]["ErrorCode"];
type Scope = components["schemas"]["Scope"];

const idTaken: ErrorCode = 40010;
const needed: Scope = "write";

// A tag may be absent; an id and a name may not.
const plants: NewPlant[] = [{ id: 1, name: "Ficus lyrata", tag: "Moraceae" }, { id: 2, name: "Ginkgo biloba" }];
// @ts-expect-error: the name is missing
const nameless: NewPlant = { id: 3 };
// @ts-expect-error: no failure has this number
const unknownCode: ErrorCode = 40099;

// Null removes the tag.
const patch: paths["/plants/{id}"]["patch"]["requestBody"]["content"]["application/merge-patch+json"] = { tag: null };

type Created = operations["createPlant"]["responses"][200]["content"]["application/json"];
type Refused = operations["createPlant"]["responses"][400]["content"]["application/json"];

export class Client {
  constructor(readonly server: string, readonly token: string) {}

  async create(plant: NewPlant): Promise<Created> {
    const response = await this.send("POST", new URL(`${this.server}/plants`), plant);
    if (response.status !== 200) {
      const refused = (await response.json()) as Refused;
      throw new Error(refused.error === idTaken ? `${plant.id} is taken` : this.explain(refused));
    }
    return (await response.json()) as Created;
  }

  async *list(query: NonNullable<operations["listPlants"]["parameters"]["query"]>): AsyncGenerator<StoredPlant> {
    const search = new URLSearchParams(Object.entries(query).map(([name, value]) => [name, String(value)]));
    let url: URL | undefined = new URL(`${this.server}/plants?${search}`);
    while (url) {
      const response: Response = await this.send("GET", url);
      if (response.status !== 200) throw new Error(this.explain((await response.json()) as PlantError));
      yield* (await response.json()) as operations["listPlants"]["responses"][200]["content"]["application/json"];
      const next = /^<([^<>]+)>; rel="next"$/.exec(response.headers.get("Link") ?? "")?.[1];
      url = next === undefined ? undefined : new URL(next, url);
    }
  }

  private explain(e: PlantError): string {
    const details = e.details?.map((d) => `${d.in} ${d.pointer} ${d.message}`) ?? [];
    return [`${e.error}: ${e.message}`, ...details].join("; ");
  }

  private send(method: string, url: URL, body?: unknown): Promise<Response> {
    const headers: Record<string, string> = { Authorization: `Bearer ${this.token}` };
    if (body !== undefined) headers["Content-Type"] = "application/json";
    return fetch(url, { method, headers, body: body === undefined ? null : JSON.stringify(body) });
  }
}

export { needed, nameless, patch, plants, unknownCode };
