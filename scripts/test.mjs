// `npm test`: types, lint, build, all tests, package checks, one after the other; ends with the counts of all of it.
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));
const bin = (name) => join(root, "node_modules", ".bin", name);
const work = mkdtempSync(join(tmpdir(), "deedbook-test-"));
let passed = 0;
let failed = 0;

/** The seed of all generated tests: the commit under test, so that a failure can be run again. */
function seedOfCommit() {
  if (process.env.DEEDBOOK_SEED !== undefined) return process.env.DEEDBOOK_SEED;
  const head = spawnSync("git", ["rev-parse", "--short=8", "HEAD"], { cwd: root, encoding: "utf8" });
  return String(head.status === 0 ? Number.parseInt(head.stdout, 16) % 2 ** 31 : 1);
}

const env = { ...process.env, DEEDBOOK_SEED: seedOfCommit() };

function step(name, command, args) {
  console.log(`\n== ${name}`);
  const { status } = spawnSync(command, args, { cwd: root, stdio: "inherit", env });
  if (status === 0) passed += 1;
  else failed += 1;
  return status === 0;
}

/** The counts of a Vitest run; a run that left no report counts as one failure. */
function countTests(report) {
  try {
    const { numPassedTests, numFailedTests, numPendingTests, numTotalTestSuites, numFailedTestSuites } = JSON.parse(
      readFileSync(report, "utf8"),
    );
    passed += numPassedTests;
    failed += numFailedTests + numPendingTests;
    if (numTotalTestSuites === 0 || (numFailedTestSuites > 0 && numFailedTests === 0)) failed += 1;
  } catch {
    failed += 1;
  }
}

console.log(`seed ${env.DEEDBOOK_SEED} (run again with DEEDBOOK_SEED=${env.DEEDBOOK_SEED})`);
// First the build: the examples and the worker threads of the tests take the library from there.
const built = step("build", "npm", ["run", "--silent", "build"]);
step("types", bin("tsc"), ["-p", "tsconfig.json"]);
step("lint", bin("eslint"), ["."]);
step("format", bin("prettier"), ["--check", "--log-level", "warn", "."]);
if (built) {
  const report = join(work, "vitest.json");
  console.log("\n== tests");
  spawnSync(bin("vitest"), ["run", "--reporter=default", "--reporter=json", `--outputFile.json=${report}`], {
    cwd: root,
    stdio: "inherit",
    env,
  });
  countTests(report);
  step("package", bin("publint"), ["--strict"]);
  step("package imports", process.execPath, ["scripts/check-package.mjs"]);
}
rmSync(work, { recursive: true, force: true });
console.log(`\n${passed} passed, ${failed} failed`);
process.exitCode = failed === 0 ? 0 : 1;
