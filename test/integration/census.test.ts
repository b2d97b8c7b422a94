// The main job, run as a user runs it: the built script as a process of its own, on real folders.
import { execFileSync } from "node:child_process";
import * as fs from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { processIdOf } from "../../examples/census/process-id.ts";
import { registrationOf } from "../../examples/census/task.ts";
import {
  allRecords,
  census,
  endsOf,
  folder,
  out,
  PROJECT,
  put,
  recount,
  scratch,
  start,
  table,
  withBook,
} from "./census-support.ts";

const FIGURES =
  "files resumed skipped killed records claims busy takeOvers effectsExecuted effectsReplayed staleRefused workers chainVerified drift proved seconds"
    .split(" ")
    .sort();

describe("census", () => {
  test("counts every file whatever its name, as a plain recount does", async () => {
    const long = Array.from({ length: 6 }, () => "long name ".repeat(20)).join("/");
    const names = [
      "plain",
      "with,comma",
      'with "quotes"',
      "line\nfeed",
      "\rreturn",
      " blank ",
      "-dash",
      "__proto__",
      "a#b%23:c",
      "é/名前/😀",
    ];
    const huge = ["x".repeat(255), "#".repeat(127) + "%".repeat(128), `${long}/one`, `${long}/two`];
    for (const name of [...names, ...huge]) put(name, `content of\n\n  some\twords\f${name.length}`);
    put("empty");
    put(
      "every byte",
      Uint8Array.from({ length: 700_001 }, (_, i) => (i * i) % 256),
    );
    put("one word", "w".repeat(600_000));
    const all = [...names, ...huge, "empty", "every byte", "one word"];
    const report = await census("--workers", "2");
    expect(table()).toBe(recount(...all));
    expect(
      Object.keys(report)
        .filter((key) => key !== "stderr")
        .sort(),
    ).toEqual(FIGURES);
    expect(report).toMatchObject({ files: all.length, resumed: 0, skipped: 0, chainVerified: true, drift: 0 });
    const workers = report["workers"] as { files: number }[];
    expect(workers.reduce((sum, { files }) => sum + files, 0)).toBe(all.length);
    expect([...endsOf(await allRecords()).values()]).toEqual(all.map(() => ["completed"]));
  });

  test("reports links, pipes, names that are not UTF-8 and what cannot be read, and goes on", async () => {
    put("kept", "a b\n");
    fs.symlinkSync("kept", join(folder, "link"));
    fs.symlinkSync("..", join(folder, "loop"));
    execFileSync("mkfifo", [join(folder, "pipe")]);
    fs.writeFileSync(Buffer.concat([Buffer.from(`${folder}/raw`), Buffer.from([0xff, 0x0a])]), "");
    // Deeper than a path can say, so that it cannot be read, not even by root.
    const deep = Array.from({ length: 9 }, () => "d".repeat(250));
    for (const top of [folder, join(folder, "../deep")]) fs.mkdirSync(join(top, ...deep), { recursive: true });
    fs.renameSync(join(folder, "../deep"), join(folder, ...deep, "deep"));
    const { stderr, files, skipped } = await census();
    expect({ files, skipped }).toEqual({ files: 1, skipped: 5 });
    for (const line of [
      "link  (symbolic link)",
      "loop  (symbolic link)",
      "pipe  (pipe)",
      "raw\\xff\\x0a  (name is not UTF-8)",
      "(path too long)",
    ])
      expect(stderr).toContain(line);
    expect(table()).toBe(recount("kept"));
  });

  test("does nothing twice, and tells the present content of what changed, came and went", async () => {
    for (const name of ["same", "changed", "gone"]) put(name, name);
    const first = await census();
    const second = await census();
    expect(second).toMatchObject({
      files: 3,
      resumed: 3,
      claims: 0,
      records: first["records"],
      workers: [{ files: 0 }],
    });
    put("changed", "other words\n");
    put("new");
    fs.rmSync(join(folder, "gone"));
    expect(await census()).toMatchObject({ files: 3, resumed: 1, claims: 2 });
    expect(table()).toBe(recount("same", "changed", "new"));
    put("changed", "changed");
    expect(await census()).toMatchObject({ files: 3, resumed: 3 });
    expect(table()).toBe(recount("same", "changed", "new"));
  });

  test("leaves out its own folder and files, however they are reached", async () => {
    put("counted", "x");
    put("results/also mine");
    const inside = join(folder, "results");
    const within = [folder, "--out", inside, "--json", "--workers", "1"];
    for (const resumed of [0, 1]) expect(JSON.parse((await start(within).ended).stdout)).toMatchObject({ files: 1, resumed });
    fs.linkSync(join(inside, "census.db"), join(folder, "another name of the book"));
    expect(JSON.parse((await start(within).ended).stdout)).toMatchObject({ files: 1, resumed: 1, skipped: 0 });
    const itself = await start([inside, "--out", inside, "--json", "--workers", "1"]).ended;
    expect(JSON.parse(itself.stdout)).toMatchObject({ files: 1, resumed: 0 });
    expect(fs.readFileSync(join(inside, "census.csv"), "utf8")).toMatch(/^path,.*\nalso mine,0,0,0,e3b0c442[0-9a-f]+\n$/);
  });

  test("cancels what an interrupted census left of a file that changed since", async () => {
    put("file", "old");
    await census();
    const stale = { path: "file", bytes: 9, sha256: "0".repeat(64) };
    await withBook((book) => book.processes.register(registrationOf(stale, 1)));
    await census();
    expect(endsOf(await allRecords()).get(processIdOf(stale.path, stale.sha256, 1))).toEqual(["cancelled"]);
    expect(table()).toBe(recount("file"));
  });

  test("counts src and docs of the project by default, wherever it is started", async () => {
    const { status, stdout } = await start(["--out", out]).ended;
    expect(status).toBe(0);
    expect(stdout).toMatch(/Files +\d[^]+worker-3 +\d[^]+Chain +verified/);
    expect(stdout).not.toContain("\x1b");
    const [, ...rows] = table().trimEnd().split("\n");
    expect(rows.filter((row) => !/^(src|docs)\//.test(row))).toEqual([]);
    expect(rows.some((row) => row.startsWith("src/index.ts,"))).toBe(true);
    expect(fs.existsSync(join(PROJECT, "src/index.ts"))).toBe(true);
  });

  test("ends with one line where no folder can be made to write into", async () => {
    put("a.txt", "a");
    const { status, stdout, stderr } = await start([folder, "--out", "/proc/deedbook-census/deeper", "--json"]).ended;
    expect({ status, stdout }).toEqual({ status: 1, stdout: "" });
    expect(stderr).toMatch(/census: .*\/proc\/deedbook-census/);
  });

  test.each([
    ["a missing folder", ["missing"], /no folder "missing"/],
    ["an empty folder", ["empty"], /no regular file/],
    ["a file", ["file"], /"file" is not a folder/],
    ["two folders", ["empty", "empty"], /one FOLDER/],
    ["no workers", ["empty", "--workers", "0"], /--workers/],
    ["a number of workers that is none", ["empty", "--workers", "NaN"], /--workers/],
    ["too many workers", ["empty", "--workers", "1e3"], /--workers/],
    ["an unknown flag", ["empty", "--colour"], /--colour/],
    ["a flag without its value", ["empty", "--out"], /--out/],
    ["a file to write into", ["empty", "--out", "file"], /--out "file"/],
  ])("ends with status 2 and one line for %s", async (_, args, said) => {
    fs.mkdirSync(join(scratch, "empty"), { recursive: true });
    fs.writeFileSync(join(scratch, "file"), "");
    const { status, stdout, stderr } = await start([...args, "--json"]).ended;
    expect({ status, stdout }).toEqual({ status: 2, stdout: "" });
    expect(stderr).toMatch(/^census: [^\n]+\n$/);
    expect(stderr).toMatch(said);
    expect(fs.existsSync(join(scratch, "census"))).toBe(false);
  });
});
