// The house rules that a machine can check: who imports whom, how long a file is, and who may print or tell the time.
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { describe, expect, it } from "vitest";

const ROOT = resolve(import.meta.dirname, "..");
const SRC = join(ROOT, "src");

/** Folders of src, and what each may import besides itself. The files of src itself wire everything. */
const MAY_IMPORT: Readonly<Record<string, readonly string[]>> = {
  core: [],
  domain: ["core"],
  log: ["domain", "core"],
  projections: ["log", "domain", "core"],
  commands: ["projections", "log", "domain", "core"],
  runtime: ["commands", "projections", "log", "domain", "core"],
  history: ["commands", "projections", "log", "domain", "core"],
  api: ["runtime", "history", "commands", "projections", "log", "domain", "core"],
  ".": ["api", "runtime", "history", "commands", "projections", "log", "domain", "core"],
  testing: [".", "api", "runtime", "history", "commands", "projections", "log", "domain", "core"],
  cli: [".", "testing"],
};

interface Source {
  path: string;
  folder: string;
  text: string;
  imports: { from: string; names: string }[];
}

function sourcesUnder(folder: string): Source[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith(".ts"))
    .map((entry) => join(entry.parentPath, entry.name))
    .sort()
    .map((path) => {
      const text = readFileSync(path, "utf8");
      const found = [...text.matchAll(/(?:^|\n)(?:import|export)\s([^;]*?)\sfrom\s+"([^"]+)"/g)];
      const imports = found.map((m) => ({ names: m[1] ?? "", from: m[2] ?? "" }));
      return { path, folder: folderOf(path), text, imports };
    });
}

function folderOf(path: string): string {
  const [first, ...rest] = relative(SRC, path).split("/");
  return rest.length === 0 ? "." : (first ?? ".");
}

const sources = sourcesUnder(SRC);
const name = (path: string): string => relative(ROOT, path);

describe("tidy", () => {
  it("finds the sources it judges", () => {
    expect(sources.length).toBeGreaterThan(80);
    expect(sources.flatMap((source) => source.imports).length).toBeGreaterThan(300);
  });

  it("lets imports run one way", () => {
    const breaches: string[] = [];
    for (const { path, folder, imports } of sources)
      for (const { from } of imports) {
        if (!from.startsWith(".")) continue;
        const target = folderOf(resolve(dirname(path), from));
        if (target !== folder && !(MAY_IMPORT[folder] ?? []).includes(target)) breaches.push(`${name(path)} imports ${from}`);
      }
    expect(breaches).toEqual([]);
  });

  it("keeps the ledger free of commands and projections, and handlers free of everything but data", () => {
    const breaches = sources.flatMap(({ path, imports }) => {
      const isHandler = path.includes("/commands/") && !/\/(bus|refusals)\.ts$/.test(path);
      const node = imports.filter(({ from }) => from.startsWith("node:"));
      return isHandler ? node.map(({ from }) => `${name(path)} imports ${from}`) : [];
    });
    expect(breaches).toEqual([]);
  });

  it("keeps the reference model independent of all that it judges", () => {
    const model = sources.filter(({ path }) => path.includes("/testing/model/"));
    const breaches = model.flatMap(({ path, imports }) =>
      imports.filter(({ from }) => !from.startsWith("./")).map(({ from }) => `${name(path)} imports ${from}`),
    );
    expect(model.length).toBeGreaterThan(10);
    expect(breaches).toEqual([]);
  });

  it("has no import cycles", () => {
    const graph = new Map(
      sources.map(({ path, imports }) => [
        path,
        imports.filter(({ from }) => from.startsWith(".")).map(({ from }) => resolve(dirname(path), from)),
      ]),
    );
    const state = new Map<string, "open" | "done">();
    const cycles: string[] = [];
    const visit = (path: string, trail: readonly string[]): void => {
      if (state.get(path) === "done") return;
      if (state.get(path) === "open") return void cycles.push([...trail.slice(trail.indexOf(path)), path].map(name).join(" → "));
      state.set(path, "open");
      for (const next of graph.get(path) ?? []) visit(next, [...trail, path]);
      state.set(path, "done");
    };
    for (const path of graph.keys()) visit(path, []);
    expect(cycles).toEqual([]);
  });

  it("keeps files under 250 lines and tells in the first line what each hides", () => {
    const all = [...sources, ...sourcesUnder(join(ROOT, "test")), ...sourcesUnder(join(ROOT, "examples"))];
    expect(all.filter(({ text }) => text.split("\n").length > 251).map(({ path }) => name(path))).toEqual([]);
    expect(all.filter(({ text }) => !text.startsWith("// ")).map(({ path }) => name(path))).toEqual([]);
  });

  it("has index files only where names are published, no default exports and no star exports", () => {
    const index = sources.filter(({ path }) => path.endsWith("/index.ts")).map(({ path }) => name(path));
    expect(index).toEqual(["src/index.ts", "src/testing/index.ts"]);
    expect(sources.filter(({ text }) => /\nexport default |\nexport \*/.test(text)).map(({ path }) => name(path))).toEqual([]);
  });

  it("leaves printing, time, randomness and the environment to where they belong", () => {
    const rules: [RegExp, RegExp][] = [
      [/\bconsole\./, /\/cli\//],
      [/\bDate\.now\(|\bnew Date\(|\bperformance\.now\(|\bsetTimeout\(|\bsetInterval\(|process\.hrtime/, /\/core\/clock\.ts$/],
      [/\bMath\.random\(|\brandomUUID\(|\brandomBytes\(|\brandomFillSync\(/, /\/core\/clock\.ts$/],
      [/\bprocess\.env\b/, /\/cli\//],
      [/from "better-sqlite3"/, /\/sqlite\//],
    ];
    const strip = (text: string): string => text.replace(/\/\*[\s\S]*?\*\/|\/\/.*$/gm, "");
    const breaches = sources.flatMap(({ path, text }) =>
      rules
        .filter(([what, where]) => what.test(strip(text)) && !where.test(path))
        .map(([what]) => `${name(path)}: ${what.source}`),
    );
    expect(breaches).toEqual([]);
  });

  it("bounds what is kept under texts of callers by characters, not by number alone", () => {
    // Hot rows are bounded each; lease clocks are kept by tokens, which have 64 characters.
    const boundOtherwise = ["src/log/sqlite/hot-rows.ts", "src/runtime/lease-clocks.ts"];
    const caches = sources
      .filter(({ text }) => text.includes("new LRUCache"))
      .map(({ path, text }) => ({ path: name(path), text }));
    const unbounded = caches.filter(({ text }) => !text.includes("maxSize:")).map(({ path }) => path);
    expect(caches.length).toBeGreaterThan(3);
    expect(unbounded).toEqual(boundOtherwise);
  });

  it("opens the book's file with fs in one place only, and only before SQLite has it", () => {
    const fs = sources
      .filter(({ path, imports }) => path.includes("/log/") && imports.some(({ from }) => from === "node:fs"))
      .map(({ path }) => name(path));
    const types = sources.filter(({ text }) => /import type \{[^}]*\} from "node:fs"/.test(text)).map(({ path }) => name(path));
    expect(fs.filter((path) => !types.includes(path))).toEqual([
      "src/log/notify.ts",
      "src/log/sqlite/looks.ts",
      "src/log/sqlite/open.ts",
    ]);
    const opening = sources.find((source) => source.path.endsWith("/sqlite/open.ts"));
    expect(opening?.imports.find(({ from }) => from === "node:fs")?.names).toMatch(/^\{ existsSync \}$/); // by path: nothing is opened
  });
});
