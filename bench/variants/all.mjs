// The variants by name, and one round's turn of any of them.
import { timed, timedSync, withFolder } from "../measuring.mjs";
import { openDeedbook } from "./book.mjs";
import { openDirect, openGrouped } from "./direct.mjs";
import { record, replay } from "./floor.mjs";

export const VARIANTS = /** @type {const} */ (["direct", "grouped", "floor", "deedbook"]);
/** @typedef {typeof VARIANTS[number]} Variant */

/**
 * @typedef {object} Script What is done on one fresh store: phases by name; that of the name "warm" is not timed.
 * @property {(store: import("../workload.mjs").Store, variant: Variant, phase: PhaseRunner) => Promise<void>} run
 *
 * @typedef {(name: string, commands: number, work: () => Promise<void>) => Promise<void>} PhaseRunner
 * @typedef {(phase: string, commands: number, took: import("../measuring.mjs").Took) => void} Told
 */

/** A scenario: its recording is made once, before the first round, and warms the code up. */
export class Scenario {
  /** @param {"full" | "normal"} durability @param {Script["run"]} run */
  constructor(durability, run) {
    this.durability = durability;
    this.run = run;
    /** @type {import("./floor.mjs").Recording | undefined} */
    this.recording = undefined;
  }

  async prepare() {
    this.recording = await withFolder((folder) =>
      record(folder, this.durability, (store, recording) =>
        this.run(store, "deedbook", async (name, commands, work) => {
          recording.phase(name, commands);
          await work();
        }),
      ),
    );
  }

  /** One turn; tells of each phase what it took. @param {Variant} variant @param {Told} told */
  async turn(variant, told) {
    await withFolder(async (folder) => {
      if (variant === "floor") return this.floor(folder, told);
      const open = { direct: openDirect, grouped: openGrouped, deedbook: openDeedbook }[variant];
      const store = await open(folder, this.durability);
      await this.run(store, variant, async (name, commands, work) => {
        const took = await timed(work);
        if (name !== "warm") told(name, commands, took);
      });
      await store.close();
    });
  }

  /** @param {string} folder @param {Told} told */
  async floor(folder, told) {
    if (this.recording === undefined) throw new Error("a scenario is prepared before its turns");
    await replay(folder, this.durability, this.recording, ({ name, commands }, work) => {
      const took = timedSync(work);
      if (name !== "warm") told(name, commands, took);
    });
  }
}
