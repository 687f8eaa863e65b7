// The types of the page, from those of the document: make page-check generates plantstore.d.ts.
// Browsers do not read this file.
import type { Failure } from "./api.js";
import type { components, paths } from "./plantstore";

export type Paths = paths;
export type Schemas = components["schemas"];

/** A type of the document with its ids as text, because they go beyond 2^53. */
export type Textual<T> = T extends object ? { [K in keyof T]: K extends "id" ? string : Textual<T[K]> } : T;
export type Plant = Textual<Schemas["StoredPlant"]>;
export type NewPlant = Textual<Schemas["NewPlant"]>;
export type Content = Schemas["Plant"];
export type HistoryEntry = Textual<Schemas["HistoryEntry"]>;
export type Change = Textual<Schemas["Change"]>;

// What an operation takes and returns.
type Success<O> = O extends { responses: infer R } ? R[keyof R & (200 | 201)] : never;
export type Query<O> = O extends { parameters: { query?: infer Q } } ? Q : never;
export type Body<O> = O extends { requestBody: { content: infer C } } ? Textual<C[keyof C]> : never;
export type Result<O> = Success<O> extends { content: { "application/json": infer C } } ? Textual<C> : undefined;
export type Parameters = Record<string, string | number>;

/** A new plant. An id that is empty, or was only proposed, may become another one. */
export type New = { at: string; mine: Content; isProposed: boolean };

/** A step that can be taken back once. While that runs, it is not offered. */
export type Step = { text: string; takeBack: () => Promise<string>; line: HTMLElement; state: "" | "running" | "over" };

// Functions for several types.
type Method<P extends keyof Paths> = keyof Paths[P] & ("get" | "put" | "patch" | "post" | "delete");
type Options = { id?: string; headers?: Record<string, string>; signal?: AbortSignal; again?: boolean; as?: string };
export type Sent = Options & { query?: object; body?: unknown };
export type Send = <P extends keyof Paths, M extends Method<P>>(
  method: M,
  path: P,
  options?: Options & { query?: Query<Paths[P][M]> & Parameters; body?: Body<Paths[P][M]> },
) => Promise<{ body: Result<Paths[P][M]>; next: Parameters | undefined }>;
export type Each = <I, O>(items: I[], call: (item: I) => Promise<O>, failed: (item: I, error: Failure) => void) => Promise<O[]>;
export type Make = <T extends keyof HTMLElementTagNameMap>(
  name: T,
  attributes?: Record<string, string>,
  ...children: (Element | string)[]
) => HTMLElementTagNameMap[T];

/** What is looked for: parts of a name, and a tag or the beginning of one. */
export type View = { q: string; tag: string | null; begin: string; plant: string | null; order: string };

/** A page of the table. */
export type Page = {
  query: Parameters;
  count: number; // of its rows; a guess until it is read
  isRead?: boolean;
  body?: HTMLTableSectionElement; // while the page is near the window
  stale?: boolean; // was read before the last change
  loading?: boolean;
  failed?: boolean;
};

/** A row of a CSV file. */
export type Row = {
  line: number;
  plant: NewPlant;
  members: ("name" | "tag")[]; // that the file has
  etag: string; // of the version that was downloaded; may be empty
  isNumbered: boolean; // the file has no id for it
  isChosen: boolean; // to be updated
  there?: Plant | undefined; // what is stored
  state: "new" | "equal" | "changed" | "stale" | "taken" | "unknown" | "wrong";
  why: string;
};
