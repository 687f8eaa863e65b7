// @ts-check
// CSV files, in the format and with the sentences of plantstore import and export.
import { wrongId } from "./api.js";
import { number } from "./dom.js";
/** @import {Plant, Row} from "./types" */

/** The columns after the id, and how many characters each can have. */
const texts = { name: 1000, tag: 256 };
export const names = /** @type {(keyof typeof texts)[]} */ (Object.keys(texts));

const saveAsUTF8 = "in Excel, save it as “CSV UTF-8 (Comma delimited)”";
const otherKinds = [
  { begin: /^504b0304|^d0cf11e0/, advice: `a spreadsheet (.xlsx, .ods, .xls) or an archive: ${saveAsUTF8}` },
  { begin: /^1f8b/, advice: "compressed with gzip: decompress it first, as with gunzip" },
];

/** The text of a file in UTF-8 or UTF-16. Other encodings are not guessed, because a wrong guess changes names; a person
 *  can choose Windows-1252, which has no wrong bytes.
 *  @param {Uint8Array} bytes */
export function decode(bytes, chosen = "") {
  const begin = [...bytes.subarray(0, 4)].map((byte) => byte.toString(16).padStart(2, "0")).join("");
  const kind = otherKinds.find((it) => it.begin.test(begin));
  if (kind) throw new Error(`the file is ${kind.advice}`);
  const zero = bytes.subarray(0, 4).indexOf(0); // of a first character in ASCII, without a mark
  const encoding = begin.startsWith("feff") || zero === 0 ? "utf-16be" : begin.startsWith("fffe") || zero > 0 ? "utf-16le" : "utf-8";
  try {
    return new TextDecoder(chosen || encoding, { fatal: true }).decode(bytes);
  } catch {
    throw new Error(`the file is not UTF-8: ${saveAsUTF8}`, { cause: "encoding" });
  }
}

/** A first line that names the separator for Excel, as in sep=; which is not data. */
const separatorLine = /^"?sep=([ !#-~\t])"?\r?(?:\n|$)/i;

/** The separator that the first line has most often. @param {string} text */
function separatorOf(text) {
  const line = text.slice(0, 65_536).split("\n", 1)[0] ?? "";
  const amount = (/** @type {string} */ it) => line.split(it).length;
  return [",", ";", "\t"].reduce((most, it) => (amount(it) > amount(most) ? it : most));
}

/** The records of a CSV file (RFC 4180). It is known which fields are quoted, because "" is an
 *  empty tag and nothing is none. The line is that of the file with which the text begins.
 *  @param {string} text @param {string} separator */
function* records(text, separator, line = 1) {
  for (let at = 0; at < text.length; ) {
    const [begin, fields] = [at, /** @type {{value: string, quoted: boolean}[]} */ ([])];
    let fault = "";
    for (let ended = false; !ended; at++) {
      const quoted = text[at] === '"';
      let to = at;
      if (quoted) {
        do to = text.indexOf('"', to + 1) + 1;
        while (to > 0 && text[to] === '"');
        if (to === 0) [fault, to] = ["a quoted field is not closed", text.length];
      }
      const closed = to;
      while (to < text.length && text[to] !== separator && text[to] !== "\n") to++;
      ended = text[to] !== separator;
      const raw = text.slice(at, ended && to > at && text[to - 1] === "\r" ? to - 1 : to);
      if (quoted && at + raw.length > closed) fault = 'text after a closing quote: inside a quoted field write a quote twice, as ""';
      fields.push({ value: quoted ? raw.slice(1, -1).replaceAll('""', '"') : raw, quoted });
      at = to;
    }
    if (fields.length > 1 || fields[0]?.value) yield { line, fields, fault };
    line += text.slice(begin, at).split("\n").length - 1;
  }
}

/** What a column of a file can be. The version of the plant, etag, is in what was downloaded here. */
export const kinds = ["id", ...names, "etag"];

/** The columns of a file by their titles: which of them are known, "" for the others, and what reads the rows when it is
 *  known what each column is.
 *  @type {(text: string) => {titles: string[], columns: string[], unknown: string[], rows: (columns: string[]) => Row[]}} */
export function parse(text) {
  const [marked, separator = separatorOf(text)] = separatorLine.exec(text) ?? [""];
  const [head, ...rest] = records(text.slice(marked.length), separator, marked ? 2 : 1);
  if (!head) throw new Error(`the file is empty: ${named}`);
  const titles = head.fields.map(({ value }) => value.trim());
  const columns = titles.map((title) => kinds.find((it) => it === title.toLowerCase()) ?? "");
  const unknown = titles.filter((title, i) => !columns[i] && !["line", "reason"].includes(title.toLowerCase()));
  return { titles, columns, unknown: unknown.map((it) => it.toLowerCase()), rows: (chosen) => rowsOf(rest, chosen) };
}

const named = "the first line of a CSV file must name its columns, as in id,name,tag";

/** What is wrong with the columns, in words; empty if nothing is. @type {(columns: string[]) => string} */
export function wrongColumns(columns) {
  const twice = columns.find((it, i) => it && columns.indexOf(it) < i);
  return twice ? `duplicate column ${JSON.stringify(twice)}` : columns.includes("name") ? "" : `the column "name" is missing: ${named}`;
}

/** The rows of a file with what is wrong in them. A row without an id gets one later.
 *  @type {(records: {line: number, fields: {value: string, quoted: boolean}[], fault: string}[], columns: string[]) => Row[]} */
function rowsOf(records, columns) {
  const [seen, isGuarded] = [new Map(), columns.includes("etag")];
  return records.map(({ line, fields, fault }) => {
    const field = (/** @type {string} */ name) => fields[columns.indexOf(name)];
    const given = names.filter((name) => name === "name" || field(name)?.value || field(name)?.quoted);
    const content = Object.fromEntries(given.map((name) => [name, isGuarded ? plain(field(name)?.value) : (field(name)?.value ?? "")]));
    const plant = /** @type {Row["plant"]} */ ({ id: field("id")?.value.trim() ?? "", ...content });
    const isShort = fields.length !== columns.length && `the row has ${fields.length} fields but the header has ${columns.length} columns`;
    const isNothing = !plant.id && !plant.name.trim() && "id is missing, and so is the name";
    const isTwice = plant.id && seen.has(plant.id) && `line ${seen.get(plant.id)} has this id, too`;
    const long = names.find((name) => [...(plant[name] ?? "")].length > texts[name]);
    const isLong = long && `the ${long} has more than ${number.format(texts[long])} characters`;
    const why = fault || isShort || isNothing || (plant.id && wrongId(plant.id)) || isTwice || isLong || "";
    seen.set(plant.id, line);
    const members = names.filter((name) => columns.includes(name)); // a column that the file does not have changes nothing
    const etag = (field("etag")?.value ?? "").replaceAll('"', "").trim();
    return { line, plant, members, etag, isNumbered: !plant.id, isChosen: false, state: why ? "wrong" : "unknown", why };
  });
}

/** What plantstore import says of such columns. @param {string[]} unknown */
export const unknownColumns = (unknown) =>
  `unknown column${unknown.length > 1 ? "s" : ""} ${unknown.map((it) => JSON.stringify(it)).join(", ")}: the columns are id,name,tag`;

// A spreadsheet runs a cell that begins like a formula, in some languages also with a full-width sign (OWASP, CSV
// injection), so such a text gets an apostrophe in a download. So does one that has it already, so that an import can take
// it away again: of a file with the column etag, as of plantstore export --etag. Others have the texts as they are.
const guarded = (/** @type {string} */ text) => (/^'*[=+\-@＝＋－＠\t\r\n]/.test(text) ? `'${text}` : text);
const plain = (text = "") => (/^'*[=+\-@＝＋－＠\t\r\n]/.test(text) ? text.replace(/^'/, "") : text);
const quote = (/** @type {string} */ text) => (/[",;\t\r\n]|^$/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);

/** A line of a download. @type {(plant: Plant, separator: string) => string} */
export const lineOf = (plant, separator) =>
  [plant.id, ...names.map((name) => (plant[name] === undefined ? "" : quote(guarded(plant[name])))), plant.etag].join(separator) + "\n";
