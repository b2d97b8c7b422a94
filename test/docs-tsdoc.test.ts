// The examples in the TSDoc of src: each is compiled in strict mode against the built declarations, and then run on a real book.
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import ts from "typescript";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import * as library from "../src/index.ts";

const ROOT = resolve(import.meta.dirname, "..");

interface Example {
  /** File and line. */
  where: string;
  code: string;
}

/** Examples reach from their tag to the next one, or to the end of the comment. */
function examplesOf(path: string): Example[] {
  const source = readFileSync(join(ROOT, path), "utf8");
  return [...source.matchAll(/\/\*\*[\s\S]*?\*\//g)].flatMap(({ 0: comment, index }) => {
    const lines = comment
      .slice(3, -2)
      .split("\n")
      .map((line) => line.replace(/^\s*\* ?/, ""));
    const found = [...lines.join("\n").matchAll(/^ *@example\b([\s\S]*?)(?=^ *@[a-z]|$(?![\s\S]))/gm)];
    const line = source.slice(0, index).split("\n").length;
    return found.map((m) => ({ where: `${path}:${line}`, code: (m[1] ?? "").trim() }));
  });
}

const examples = readdirSync(join(ROOT, "src"), { recursive: true, encoding: "utf8" })
  .filter((path) => path.endsWith(".ts"))
  .sort()
  .flatMap((path) => examplesOf(join("src", path)));

/** What a reader takes for granted: a book with the processes that examples speak of, an owner, a lease, some work. */
const SCENE = `
import { randomUUID } from "node:crypto";
import { hostname } from "node:os";
import { ${Object.keys(library).join(", ")} } from "deedbook";
import type { CompletionAuthority, Lease, LeaseOwner } from "deedbook";

async function scene(registersItself: boolean) {
  const book = await openBook({ memory: memoryStore() });
  const eventTypes = [{ name: "progress" }];
  const input = { type: "engine", kind: "report" } as const;
  if (!registersItself) await book.processes.register({ id: "report-7", input, disposition: "rerunnable", eventTypes });
  await book.processes.register({ id: "crawl", input, disposition: "rerunnable" });
  await book.processes.register({ id: "order-1", input: { type: "external" }, disposition: "externallyOwned" });
  const owner: LeaseOwner = { ownerId: "worker-1", incarnationId: randomUUID() };
  const claim = await book.leases.claim("crawl", owner, 60_000);
  if (claim.kind === "busy") throw new Error("a fresh process is free");
  const authority: CompletionAuthority = { type: "externalOwner", grantedTo: "somebody" };
  const work = async (lease: Lease): Promise<void> => void (await book.leases.release(lease));
  return { book, owner, lease: claim.lease, authority, work };
}
`;

function programOf(all: readonly Example[]): string {
  const functions = all.map(
    ({ code }, i) => `async function example${i}() {
  const { book, owner, lease, authority, work } = await scene(${/\.register(WithGrant)?\(/.test(code)});
  {
${code}
  }
  await book.close();
}`,
  );
  const list = all.map((_, i) => `example${i}`).join(", ");
  return `${SCENE}${functions.join("\n")}
const results: string[] = [];
for (const example of [${list}]) results.push(await example().then(() => "ran", (error: unknown) => String(error)));
console.log("\\n" + JSON.stringify(results));
`;
}

const OPTIONS: ts.CompilerOptions = {
  target: ts.ScriptTarget.ES2022,
  lib: ["lib.es2023.d.ts", "lib.esnext.disposable.d.ts"],
  module: ts.ModuleKind.NodeNext,
  moduleResolution: ts.ModuleResolutionKind.NodeNext,
  types: ["node"],
  typeRoots: [join(ROOT, "node_modules/@types")],
  strict: true,
  exactOptionalPropertyTypes: true,
  skipLibCheck: true,
};

describe("the TSDoc examples of src", () => {
  const folder = mkdtempSync(join(tmpdir(), "deedbook-tsdoc-"));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  let problems: string[] = [];

  beforeAll(() => {
    expect(existsSync(join(ROOT, "dist/index.d.ts")), "build before these tests: npm run build").toBe(true);
    mkdirSync(join(folder, "node_modules"));
    symlinkSync(ROOT, join(folder, "node_modules", "deedbook"), "dir");
    writeFileSync(join(folder, "package.json"), '{ "type": "module" }');
    const file = join(folder, "examples.ts");
    writeFileSync(file, programOf(examples));
    const program = ts.createProgram([file], OPTIONS);
    problems = ts.getPreEmitDiagnostics(program).map((one) => {
      const line = one.file?.text.slice(0, one.start).split("\n") ?? [];
      const number = /^async function example(\d+)/.exec(line.findLast((text) => text.startsWith("async function")) ?? "")?.[1];
      return `${examples[Number(number)]?.where ?? "scene"}: ${ts.flattenDiagnosticMessageText(one.messageText, " ")}`;
    });
    program.emit();
  });

  it("are there", () => {
    expect(examples.length).toBeGreaterThanOrEqual(14);
    expect(examples.filter(({ code }) => code === "")).toEqual([]);
  });

  it("compile in strict mode against the public declarations", () => {
    expect(problems).toEqual([]);
  });

  it("run to their end on a real book", () => {
    const output = execFileSync(process.execPath, ["examples.js"], { cwd: folder, encoding: "utf8", timeout: 60_000 });
    const results = JSON.parse(output.trimEnd().split("\n").at(-1) ?? "") as string[];
    expect(results.map((result, i) => `${examples[i]?.where ?? ""}: ${result}`)).toEqual(
      examples.map(({ where }) => `${where}: ran`),
    );
  });
});
