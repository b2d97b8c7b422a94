// The main job when its workers are killed, stopped or overtaken: the files are counted once, and right.
import { join } from "node:path";
import * as fs from "node:fs";
import { describe, expect, test } from "vitest";
import { processIdOf } from "../../examples/census/process-id.ts";
import { registrationOf, type Task } from "../../examples/census/task.ts";
import { openBook, type Book } from "../../src/index.ts";
import { createHash } from "node:crypto";
import {
  allRecords,
  census,
  endsOf,
  folder,
  freezeHolder,
  out,
  put,
  putLong,
  recount,
  start,
  startWorker,
  table,
  until,
} from "./census-support.ts";

const MIB = 1024 * 1024;

/** The book of a census that has just begun, opened beside it. */
function bookOfRun(): Promise<Book> {
  return until(() =>
    fs.existsSync(join(out, "census.db-notify")) ? openBook(join(out, "census.db"), { create: false }) : undefined,
  );
}

function taskFor(path: string): Task {
  const content = fs.readFileSync(join(folder, path));
  return { path, bytes: content.length, sha256: createHash("sha256").update(content).digest("hex") };
}

/** A new book with processes for these tasks, as the coordinator would register them. */
async function bookWith(...tasks: Task[]): Promise<Book> {
  fs.mkdirSync(out);
  const book = await openBook(join(out, "census.db"));
  await Promise.all(tasks.map((task) => book.processes.register(registrationOf(task, 1))));
  return book;
}

/** Every process of the census has exactly this end. */
async function expectEnds(end: string, count: number): Promise<void> {
  const ends = [...endsOf(await allRecords())].filter(([id]) => id.includes(":"));
  expect(ends.map(([, all]) => all)).toEqual(Array.from({ length: count }, () => [end]));
}

describe("census workers", () => {
  test.each([3, 1])("are replaced when one of %i is killed, and every file is counted once", async (workers) => {
    const names = ["a", "b", "c", "d"];
    for (const name of names) putLong(name, 64 * MIB);
    const { ended } = start([folder, "--out", out, "--json", "--kill", "0", "--workers", String(workers)]);
    {
      await using book = await bookOfRun();
      const { pid } = await freezeHolder(book);
      process.kill(pid, "SIGKILL");
    }
    const { status, stdout, stderr } = await ended;
    expect({ status, stderr }).toMatchObject({ status: 0, stderr: expect.stringContaining("died (SIGKILL)") as string });
    const report = JSON.parse(stdout) as { takeOvers: number };
    expect(report).toMatchObject({ files: 4, chainVerified: true, drift: 0 });
    expect(report.takeOvers).toBeGreaterThan(0);
    expect(table()).toBe(recount(...names));
    await expectEnds("completed", 4);
  });

  test.each(["SIGINT", "SIGTERM", "SIGKILL"] as const)("stop with the census on %s, and another goes on", async (signal) => {
    for (const name of ["a", "b"]) putLong(name, 64 * MIB);
    const { child, ended } = start([folder, "--out", out, "--json", "--kill", "0", "--workers", "2"]);
    await using book = await bookOfRun();
    const { pid } = await freezeHolder(book);
    child.kill(signal);
    process.kill(pid, "SIGCONT");
    const { status, stdout, stderr } = await ended;
    expect({ status, stdout }).toEqual({ status: signal === "SIGKILL" ? null : 130, stdout: "" });
    if (signal !== "SIGKILL") expect(stderr).toContain("Interrupted");
    await until(() => (isAlive(pid) ? undefined : true));
    expect(fs.existsSync(join(out, "census.csv"))).toBe(false);
    expect(await census()).toMatchObject({ files: 2, chainVerified: true });
    expect(table()).toBe(recount("a", "b"));
    await expectEnds("completed", 2);
  });

  test("keep their lease through a long file by renewing it", async () => {
    putLong("long", 256 * MIB);
    await using book = await bookWith(taskFor("long"));
    expect(await startWorker("alone", 900).ended).toBe(0);
    const types = (await allRecords()).map(({ type }) => type);
    expect(types).toContain("lease.renewed");
    await expectEnds("completed", 1);
    const { processes } = await book.processes.list({ status: "completed" });
    const { events } = await book.events.after(processes[0]!.id, 0);
    const done = events.filter(({ eventType }) => eventType === "census.progress").map(({ payload }) => payload);
    expect(done).toEqual(Array.from({ length: 16 }, (_, i) => ({ bytes: (i + 1) * 16 * MIB, total: 256 * MIB })));
  });

  test("survive that another took over, and write nothing more under the old lease", async () => {
    putLong("long", 96 * MIB);
    await using book = await bookWith(taskFor("long"));
    const first = startWorker("first", 500);
    const { processId, pid } = await freezeHolder(book);
    const second = startWorker("second", 10_000);
    expect(await second.ended).toBe(0);
    expect((await book.processes.get(processId))?.status.state).toBe("completed");
    process.kill(pid, "SIGCONT");
    expect(await first.ended).toBe(0);
    await expectEnds("completed", 1);
    const records = await allRecords();
    const [taken] = records.filter(({ type, facts }) => type === "lease.claimed" && facts["how"] === "expired");
    expect(taken?.meta.actor).toBe("second");
    const later = records.filter(({ position, type }) => position > taken!.position && type === "event.appended");
    expect(new Set(later.map(({ meta }) => meta.actor))).toEqual(new Set(["second"]));
  });

  test("say of a file that changed or vanished that it did, and a later census counts what is there", async () => {
    for (const name of ["changes", "vanishes", "stays"]) put(name, name);
    const tasks = ["changes", "vanishes", "stays"].map(taskFor);
    {
      await using book = await bookWith(...tasks);
      put("changes", "longer than before");
      fs.rmSync(join(folder, "vanishes"));
      expect(await startWorker("alone", 10_000).ended).toBe(0);
      const { processes } = await book.processes.list({ status: "failed" });
      const codes = processes.map(({ status }) =>
        status.state === "failed" && status.awaitOutput.type === "failure" ? status.awaitOutput.code : "",
      );
      expect(codes).toEqual(["file_changed", "file_unreadable"]);
    }
    put("vanishes", "vanishes");
    expect(await census()).toMatchObject({ files: 3, resumed: 1, claims: 2 });
    expect(table()).toBe(recount("changes", "vanishes", "stays"));
    const ends = endsOf(await allRecords());
    expect(ends.get(processIdOf("vanishes", tasks[1]!.sha256, 2))).toEqual(["completed"]);
  });
});

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return !fs.readFileSync(`/proc/${pid}/stat`, "utf8").includes(") Z ");
  } catch {
    return false;
  }
}
