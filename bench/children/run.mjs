// Another process of the benchmark: started with arguments, spoken with in messages, gone at the end.
import { fork } from "node:child_process";
import { fileURLToPath } from "node:url";

export class Child {
  /** @param {string} script - a file of this folder. @param {object} input */
  constructor(script, input) {
    const path = fileURLToPath(new URL(script, import.meta.url));
    this.child = fork(path, [JSON.stringify(input)], { stdio: ["ignore", "inherit", "inherit", "ipc"] });
    /** @type {unknown[]} */
    this.received = [];
    /** @type {(() => void) | undefined} */
    this.wake = undefined;
    /** @type {Error | undefined} */
    this.failed = undefined;
    this.child.on("message", (message) => {
      this.received.push(message);
      this.wake?.();
    });
    this.child.on("exit", (code) => {
      this.failed = new Error(`${script} ended with ${code}`);
      this.wake?.();
    });
  }

  /** The next message. @returns {Promise<any>} */
  async message() {
    while (this.received.length === 0) {
      if (this.failed !== undefined) throw this.failed;
      await new Promise((resolve) => (this.wake = () => resolve(undefined)));
    }
    return this.received.shift();
  }

  /** @param {string} text */
  send(text) {
    this.child.send(text);
  }

  async end() {
    if (this.child.connected) this.child.disconnect();
    while (this.child.exitCode === null && this.child.signalCode === null && this.failed === undefined)
      await new Promise((resolve) => (this.wake = () => resolve(undefined)));
  }
}

/** What a child was started with. */
export const input = () => JSON.parse(process.argv[2] ?? "{}");

/** The next message of the parent. @returns {Promise<unknown>} */
export const told = () => new Promise((resolve) => process.once("message", resolve));

/** @param {unknown} message */
export const tell = (message) => void process.send?.(message);
