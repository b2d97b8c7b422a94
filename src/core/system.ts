// What is read from the operating system, as one part that tests can replace.
import { readFileSync, readlinkSync, statfsSync, watch } from "node:fs";

/** A seam: everything the library asks of the machine besides time, randomness and the book's own file. */
export interface System {
  /** The type of the file system that holds `path`, as statfs gives it, or undefined where it cannot be asked. */
  statfs(path: string): number | undefined;
  /** Names this boot of the machine; undefined where there is no /proc. */
  bootId(): string | undefined;
  /** The inode text of this process's pid namespace. */
  pidNamespace(): string | undefined;
  /** The text of /proc/<pid>/stat; undefined when it cannot be read. */
  processStat(pid: number): string | undefined;
  /** Whether signal 0 reaches the process: "alive" also when it is somebody else's ("denied" tells so). */
  kill0(pid: number): "alive" | "denied" | "gone";
  /** Calls back when the file may have changed; the result stops watching. */
  watch(path: string, changed: () => void): () => void;
}

export const realSystem: System = {
  statfs: (path) => attempt(() => statfsSync(path).type),
  bootId: () => attempt(() => readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim()),
  pidNamespace: () => attempt(() => readlinkSync("/proc/self/ns/pid")),
  processStat: (pid) => attempt(() => readFileSync(`/proc/${pid}/stat`, "utf8")),
  kill0(pid) {
    try {
      process.kill(pid, 0);
      return "alive";
    } catch (error) {
      return (error as NodeJS.ErrnoException).code === "ESRCH" ? "gone" : "denied";
    }
  },
  watch(path, changed) {
    const watcher = watch(path, { persistent: false }, changed);
    watcher.on("error", changed);
    return () => watcher.close();
  },
};

function attempt<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch {
    return undefined; // an entry that is missing, hidden or not ours proves nothing
  }
}
