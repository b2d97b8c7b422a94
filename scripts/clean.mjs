// Removes what a build has made, so that nothing of an earlier one is tested or published.
import { rmSync } from "node:fs";

for (const folder of ["dist", "build"]) rmSync(new URL(`../${folder}`, import.meta.url), { recursive: true, force: true });
