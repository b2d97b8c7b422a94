// What is seen while a census runs, on stderr: bars on a terminal, plain lines otherwise.
import { styleText } from "node:util";
import { MultiBar, type Options } from "cli-progress";
import { count } from "./report.ts";

/** One kind of step that all files go through. */
export interface Stage {
  advance(): void;
}

export interface Display {
  note(text: string): void;
  start(label: string, total: number): Stage;
  /** Leaves the terminal as it was. Twice is safe. */
  stop(): void;
}

type Output = NodeJS.WriteStream;

export function displayOn(output: Output): Display {
  return output.isTTY ? bars(output) : lines(output);
}

const LABEL_CHARS = 16;
const BAR_CHARS = 32;

function bars(output: Output): Display {
  const bar = output.hasColors() ? styleText("cyan", "{bar}") : "{bar}";
  const options: Options = {
    format: `  {label} ${bar}  {value} of {total} files`,
    formatValue: (value, _options, type) => (type === "value" || type === "total" ? count(value) : String(value)),
    stream: output,
    barsize: BAR_CHARS,
    barCompleteChar: "━",
    barIncompleteChar: "─",
    hideCursor: true,
    gracefulExit: false,
    fps: 20,
  };
  let drawn: MultiBar | undefined;
  return {
    note(text) {
      if (drawn === undefined) output.write(`  ${text}\n`);
      else drawn.log(`  ${text}\n`);
    },
    start(label, total) {
      drawn ??= new MultiBar(options);
      const bar = drawn.create(total, 0, { label: label.padEnd(LABEL_CHARS) });
      return { advance: () => bar.increment() };
    },
    stop() {
      drawn?.stop();
      drawn = undefined;
    },
  };
}

/** A line a second, so that a log file stays short. */
const EVERY_MS = 1_000;

function lines(output: Output): Display {
  return {
    note: (text) => void output.write(`${text}\n`),
    start(label, total) {
      let done = 0;
      let saidAtMs = performance.now();
      return {
        advance() {
          done += 1;
          if (done < total && performance.now() < saidAtMs + EVERY_MS) return;
          saidAtMs = performance.now();
          output.write(`${label.toLowerCase()}  ${done} of ${total} files\n`);
        },
      };
    },
    stop: () => undefined,
  };
}
