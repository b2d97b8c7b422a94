// Makes a folder with those above it, step by step: where nothing can be made, that is an error and never an endless try.
import { mkdir, stat } from "node:fs/promises";
import { dirname } from "node:path";

/** `mkdir` with `recursive` tries for ever under /proc. */
export async function makeFolder(path: string): Promise<void> {
  const missing: string[] = [];
  for (let here = path; !(await exists(here)); here = dirname(here)) missing.unshift(here);
  for (const folder of missing) {
    try {
      await mkdir(folder);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
    }
  }
}

async function exists(path: string): Promise<boolean> {
  try {
    await stat(path);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT" && dirname(path) !== path) return false;
    throw error;
  }
}
