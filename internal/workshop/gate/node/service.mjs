// Keeps notes in memory: node service.mjs
import { createServer } from "node:http";

const notes = new Map();
let lastID = 0;

// noteOf returns the members of a new note, or throws an Error.
function noteOf(text) {
  const body = JSON.parse(text);
  if (typeof body !== "object" || body === null || Array.isArray(body)) throw new Error("the body must be an object");
  const { text: words, stars = 0 } = body;
  if (typeof words !== "string" || ![...words].length || [...words].length > 200) {
    throw new Error("text must have 1 to 200 characters");
  }
  if (!Number.isInteger(stars) || stars < 0 || stars > 5) throw new Error("stars must be an integer from 0 to 5");
  return { text: words, stars };
}

function addNote(request, text) {
  if (!/^application\/json *(;|$)/.test(request.headers["content-type"] ?? "")) {
    return [415, { message: "the body must be application/json" }];
  }
  try {
    const note = { id: lastID + 1, ...noteOf(text) };
    lastID = note.id;
    notes.set(note.id, note);
    return [201, note];
  } catch (wrong) {
    return [400, { message: wrong.message }];
  }
}

// respond returns a status, a body and what the path allows.
function respond(request, text) {
  const { method } = request;
  const [path] = request.url.split("?");
  if (path === "/notes") {
    if (method === "GET") return [200, [...notes.values()]];
    if (method === "POST") return addNote(request, text);
    return [405, { message: "no such method" }, "GET, POST"];
  }
  const [, id] = /^\/notes\/([^/]+)$/.exec(path) ?? [];
  if (!id) return [404, { message: "no such path" }];
  if (method !== "GET" && method !== "DELETE") return [405, { message: "no such method" }, "GET, DELETE"];
  if (!/^[1-9][0-9]*$/.test(id)) return [400, { message: "the id must be an integer from 1" }];
  const note = notes.get(Number(id));
  if (!note) return [404, { message: "no such note" }];
  if (method === "GET") return [200, note];
  notes.delete(note.id);
  return [204];
}

createServer(async (request, response) => {
  const parts = [];
  for await (const part of request) parts.push(part);
  const [status, body, allow] = respond(request, Buffer.concat(parts).toString());
  response.writeHead(status, { ...(body && { "Content-Type": "application/json" }), ...(allow && { Allow: allow }) });
  response.end(body && JSON.stringify(body));
}).listen(8080, "127.0.0.1");
