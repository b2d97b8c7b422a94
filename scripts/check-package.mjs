// Installs nothing, but looks at the package as npm would pack it: its files, and that its entry points load.
import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));
const pack = spawnSync("npm", ["pack", "--dry-run", "--json"], { cwd: root, encoding: "utf8" });
if (pack.status !== 0) throw new Error(pack.stderr);
const described = JSON.parse(pack.stdout);
const files = (Array.isArray(described) ? described[0] : Object.values(described)[0]).files.map((file) => file.path);
for (const wanted of ["dist/index.js", "dist/index.d.ts", "dist/testing/index.js", "README.md", "LICENSE"])
  if (!files.includes(wanted)) throw new Error(`the package lacks ${wanted}`);
const strays = files.filter((file) => /^(test|examples|bench|scripts|build|census)\//.test(file) || /\.(db|tgz)$/.test(file));
if (strays.length > 0) throw new Error(`the package carries ${strays.join(", ")}`);

const names = Object.keys(await import("deedbook"));
for (const name of ["openBook", "memoryStore", "DeedbookError", "localOwner", "scopeId", "registrationHash"])
  if (!names.includes(name)) throw new Error(`deedbook does not export ${name}`);
await import("deedbook/testing");
console.log(`${files.length} files, ${names.length} values exported`);
