// What the documents say, held against the code: programs run, tables are complete, hashes are right, links lead somewhere.
import { execFile } from "node:child_process";
import { createHash, createHmac } from "node:crypto";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, relative, resolve } from "node:path";
import { promisify } from "node:util";
import { crc32 } from "node:zlib";
import ts from "typescript";
import { afterAll, describe, expect, it } from "vitest";
import { ERROR_CODES, memoryStore, openBook } from "../src/index.ts";

const ROOT = resolve(import.meta.dirname, "..");
const text = (path: string): string => readFileSync(join(ROOT, path), "utf8");
const folders: string[] = [];
afterAll(() => folders.forEach((folder) => rmSync(folder, { recursive: true, force: true })));

/** A folder in which `import "deedbook"` finds this project as it was built. */
function folderWithDeedbook(): string {
  expect(existsSync(join(ROOT, "dist/index.js")), "build before these tests: npm run build").toBe(true);
  const folder = mkdtempSync(join(tmpdir(), "deedbook-docs-"));
  folders.push(folder);
  mkdirSync(join(folder, "node_modules"));
  symlinkSync(ROOT, join(folder, "node_modules", "deedbook"), "dir");
  writeFileSync(join(folder, "package.json"), '{ "type": "module" }');
  return folder;
}

async function run(folder: string, file: string): Promise<string> {
  return (await promisify(execFile)(process.execPath, [file], { cwd: folder, timeout: 60_000 })).stdout;
}

/** Fenced blocks of one language, in order. */
function blocks(markdown: string, language: string): string[] {
  return [...markdown.matchAll(new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\``, "gm"))].map((m) => m[1] ?? "");
}

interface Program {
  title: string;
  code: string;
  output: string;
}

/** Each js block with the heading above it and the text block below it; a program without output prints nothing. */
function programs(markdown: string): Program[] {
  const found = markdown.matchAll(/^```js\n([\s\S]*?)^```\n(?:\n(?:It prints:\n\n)?```text\n([\s\S]*?)^```)?/gm);
  return [...found].map((m) => {
    const title = [...markdown.slice(0, m.index).matchAll(/^##? (.*)$/gm)].at(-1)?.[1] ?? "";
    return { title, code: m[1] ?? "", output: m[2] ?? "" };
  });
}

/** Cells of the table rows whose first cell is code. */
function rowsOf(markdown: string): string[][] {
  return [...markdown.matchAll(/^\| (`.*) \|$/gm)].map((m) => (m[1] ?? "").split(/ ?\| /));
}
const quoted = (cell: string): string[] => [...cell.matchAll(/`([^`]+)`/g)].map((m) => m[1] ?? "");

/** The members of an interface, as its source says; an optional one ends in a question mark. */
function membersOf(path: string, name: string): Map<string, ts.TypeNode | undefined> {
  const source = ts.createSourceFile(path, text(path), ts.ScriptTarget.ES2022, true);
  const found = source.statements.find(
    (one): one is ts.InterfaceDeclaration => ts.isInterfaceDeclaration(one) && one.name.text === name,
  );
  return namesOf(found?.members ?? []);
}
function namesOf(members: Iterable<ts.TypeElement>): Map<string, ts.TypeNode | undefined> {
  const result = new Map<string, ts.TypeNode | undefined>();
  for (const one of members)
    if (ts.isPropertySignature(one)) result.set(one.name.getText() + (one.questionToken === undefined ? "" : "?"), one.type);
  return result;
}

describe("README", () => {
  const [first] = programs(text("README.md"));

  it("has a first program of at most 15 lines that prints what it says, and on a second run only claims again", async () => {
    const { code, output } = first as Program;
    expect(code.trimEnd().split("\n").length).toBeLessThanOrEqual(15);
    const folder = folderWithDeedbook();
    writeFileSync(join(folder, "first.mjs"), code);
    expect(await run(folder, "first.mjs")).toBe(output);
    expect(await run(folder, "first.mjs")).toBe(`${output}6 lease.claimed\n`);
  });

  it("has a row for each option of openBook, and stays under 200 lines", () => {
    const section = /^## Options$([\s\S]*?)^## /m.exec(text("README.md"))?.[1] ?? "";
    const told = rowsOf(section).flatMap(([option]) => quoted(option ?? ""));
    expect(told.sort()).toEqual(
      [...membersOf("src/options.ts", "BookOptions").keys()].map((name) => name.replace("?", "")).sort(),
    );
    expect(text("README.md").split("\n").length).toBeLessThan(200);
  });
});

describe("docs/guide.md", () => {
  const all = programs(text("docs/guide.md"));

  it("has a program for each of its themes", () => {
    expect(all.length).toBe([...text("docs/guide.md").matchAll(/^## /gm)].length);
    expect(all.filter(({ output }) => output === "")).toEqual([]);
  });

  it.each(all)("prints what it says: $title", async ({ code, output }) => {
    const folder = folderWithDeedbook();
    writeFileSync(join(folder, "program.mjs"), code);
    expect(await run(folder, "program.mjs")).toBe(output);
  });
});

describe("docs/errors.md", () => {
  const rows = rowsOf(text("docs/errors.md"));

  it("has one row for each error code and no others", () => {
    expect(rows.map(([code]) => quoted(code ?? "")[0]).sort()).toEqual([...ERROR_CODES].sort());
    expect(rows.filter((row) => row.length !== 5 || row.some((cell) => cell.trim() === ""))).toEqual([]);
  });

  it("names the details of each code as they are", () => {
    const told = Object.fromEntries(rows.map(([code, , details]) => [quoted(code ?? "")[0], quoted(details ?? "")]));
    const codes = [...membersOf("src/core/error-details.ts", "ErrorDetails")];
    expect(told).toEqual(
      Object.fromEntries(codes.map(([code, type]) => [code, [...namesOf((type as ts.TypeLiteralNode).members).keys()]])),
    );
  });
});

describe("docs/reference.md", () => {
  it("is what the public types and their doc comments say (npm run reference writes it)", async () => {
    const script = [join(ROOT, "scripts/reference.mjs"), "--print"];
    const { stdout } = await promisify(execFile)(process.execPath, script, { maxBuffer: 2 ** 24 });
    expect(text("docs/reference.md").split("\n")).toEqual(stdout.split("\n"));
  });
});

describe("docs/log-format.md", () => {
  const page = text("docs/log-format.md");
  const sha256 = (...parts: (string | Buffer)[]): string =>
    parts.reduce((sum, part) => sum.update(part), createHash("sha256")).digest("hex");
  const fields = (values: readonly (string | null)[]): string =>
    values.map((value) => (value === null ? "-;" : `${Buffer.byteLength(value)}:${value};`)).join("");
  const only = (language: string): string => (blocks(page, language)[0] ?? "").trimEnd();
  /** The example's records: a name, spaces, and the text as it is stored. */
  const records = blocks(page, "record").map((block) =>
    Object.fromEntries([...block.matchAll(/^(\S+) +(.*)$/gm)].map((m) => [m[1] ?? "", m[2] ?? ""])),
  );
  const HASHED = ["type", "subjectKind", "subject", "prev", "version", "rules", "facts", "meta", "payloadHash"];
  const recordText = (record: Record<string, string>): string =>
    fields(HASHED.map((name) => (name === "payloadHash" && record[name] === "-" ? null : (record[name] as string))));

  it("has an example whose chain, payload and identity hash follow from the page alone", () => {
    expect(records.length).toBe(3);
    let link = "0".repeat(64);
    for (const record of records) {
      link = sha256(fields([link, record["position"] as string, record["at"] as string, sha256(recordText(record))]));
      expect(link).toBe(record["link"]);
    }
    const [first, , third] = records as [Record<string, string>, Record<string, string>, Record<string, string>];
    expect(recordText(first)).toBe(only("record-text"));
    expect(sha256(only("record-text"))).toBe(only("record-hash"));
    expect(sha256(only("link-text"))).toBe(first["link"]);
    expect(sha256(Buffer.from(third["salt"] as string, "hex"), third["payload"] as string)).toBe(third["payloadHash"]);
    const identity = /over `(\["paid".*?\])`;/.exec(page)?.[1] ?? "";
    const { eventPayloadHash } = JSON.parse(third["facts"] as string) as { eventPayloadHash: string };
    expect(
      createHmac("sha256", Buffer.from(only("identity-key"), "hex"))
        .update(identity)
        .digest("hex"),
    ).toBe(eventPayloadHash);
  });

  it("has a notify line of the form it describes, of the example's head", () => {
    const line = blocks(page, "notify")[0] as string;
    expect(Buffer.byteLength(line)).toBe(191);
    expect(crc32(line.slice(0, -9)).toString(16).padStart(8, "0")).toBe(line.slice(-9, -1));
    expect(line.split(/ +/).slice(3, 5)).toEqual([expect.any(String), "0".repeat(15) + "3"]);
    expect(line).toContain(records[2]?.["link"]);
  });

  it("has the example's records as this library writes them, but for ids and hashes", async () => {
    const mask = (value: string): string => value.replace(/[0-9a-f]{64}|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, "…");
    const book = await openBook({ memory: memoryStore() });
    const eventTypes = [{ name: "paid" }];
    await book.processes.register({ id: "order-1", input: { type: "external" }, disposition: "externallyOwned", eventTypes });
    const paid = { eventType: "paid", payload: { amount: 42, note: "Grüße" } };
    await book.events.append("order-1", paid, { meta: { actor: "till-3" } });
    const written: string[][] = [];
    for await (const { type, subject, prev, version, rules, facts, meta } of book.history.records())
      written.push([
        type,
        subject.kind,
        subject.id,
        `${prev}`,
        `${version}`,
        `${rules}`,
        ...[facts, meta].map((one) => mask(JSON.stringify(one))),
      ]);
    await book.close();
    expect(records.map((record) => HASHED.slice(0, -1).map((name) => mask(record[name] as string)))).toEqual(written);
  });

  it("has a row for each type of record that a projection knows, and no others", () => {
    const known = readdirSync(join(ROOT, "src/projections")).flatMap((file) =>
      [...text(`src/projections/${file}`).matchAll(/^ {2}"([a-z]+\.[a-zA-Z]+)": \(fact\)/gm)].map((m) => m[1]),
    );
    const section = /^## Record types$([\s\S]*?)^## /m.exec(page)?.[1] ?? "";
    expect(
      rowsOf(section)
        .map(([type]) => quoted(type ?? "")[0])
        .sort(),
    ).toEqual([...new Set(known)].sort());
  });
});

describe("links", () => {
  const pages = ["", "docs", "examples", "bench", "src", "test"].flatMap((folder) =>
    readdirSync(join(ROOT, folder), { recursive: folder !== "", encoding: "utf8" })
      .filter((path) => path.endsWith(".md"))
      .map((path) => join(folder, path)),
  );
  const withoutCode = (page: string): string => text(page).replace(/^```[\s\S]*?^```/gm, "");
  const anchors = (page: string): string[] =>
    [...withoutCode(page).matchAll(/^#+ (.*)$/gm)].map((m) =>
      (m[1] ?? "")
        .toLowerCase()
        .replace(/[^\p{L}\p{N} _-]/gu, "")
        .replaceAll(" ", "-"),
    );

  it("lead to files and headings that exist", () => {
    expect(pages.length).toBeGreaterThan(15);
    const broken = pages.flatMap((page) =>
      [...withoutCode(page).matchAll(/\]\(([^)\s]+)\)/g)]
        .map((m) => m[1] ?? "")
        .filter((link) => !/^https?:/.test(link))
        .filter((link) => {
          const [path = "", anchor] = link.split("#");
          const target = path === "" ? page : relative(ROOT, resolve(ROOT, dirname(page), path));
          return !existsSync(join(ROOT, target)) || (anchor !== undefined && !anchors(target).includes(anchor));
        })
        .map((link) => `${page}: ${link}`),
    );
    expect(broken).toEqual([]);
  });
});
