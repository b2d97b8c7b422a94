// The parts that the API groups stand on, over a book in a few maps.
import { Handovers } from "../../../src/api/handovers.ts";
import { Grants } from "../../../src/api/grants.ts";
import { Leases } from "../../../src/api/leases.ts";
import type { LeaseContext } from "../../../src/api/holding.ts";
import { LeaseClocks } from "../../../src/runtime/lease-clocks.ts";
import { handlerOf } from "../../../src/commands/rules.ts";
import { systemClock, systemRandom } from "../../../src/core/clock.ts";
import { DeedbookError, type ErrorCode } from "../../../src/core/errors.ts";
import { sha256Hex } from "../../../src/core/hash.ts";
import { DEFAULT_LIMITS } from "../../../src/core/limits.ts";
import { realSystem, type System } from "../../../src/core/system.ts";
import type { Command, Got, Wants } from "../../../src/log/decision.ts";
import { aProcess, World } from "./world.ts";

export interface FakeBook {
  world: World;
  leases: Leases;
  grants: Grants;
  handovers: Handovers;
  /** The ledger's time of the next command. */
  at: number;
  /** Commands and reads that got past the check of their arguments. */
  asked: number;
}

/** A book whose processes p, q, … were registered by a record each. */
export function fakeBook(ids: readonly string[], system: System = realSystem): FakeBook {
  const world = new World();
  for (const id of ids) {
    world.position += 1;
    const { position } = world;
    world.bodies.set(position, {
      value: { registration: { id, eventTypes: [] } },
      text: `{"registration":{"id":"${id}","eventTypes":[]}}`,
    });
    world.apply({ put: "processes", row: aProcess(id, { registeredPosition: position }) });
  }
  const row = (): Promise<undefined> => Promise.resolve(undefined);
  const context = {
    leaseClocks: new LeaseClocks({ clock: systemClock, topics: undefined as never, row }),
    runtime: undefined as never,
    limits: DEFAULT_LIMITS,
    requireEnvRef: false,
    clock: systemClock,
    random: systemRandom(),
    system,
    identityHash: sha256Hex,
    submit(_operation: string, command: Command) {
      book.asked += 1;
      const decision = world.run(handlerOf(command.type), command, book.at);
      if (decision.kind === "refused") return Promise.reject(new DeedbookError<ErrorCode>(decision.code, decision.details));
      return Promise.resolve({ kind: decision.kind, at: book.at, reply: decision.reply });
    },
    read(wants: (got: Got) => Wants) {
      book.asked += 1;
      return Promise.resolve().then(() => world.gather(wants));
    },
  } as unknown as LeaseContext;
  const book: FakeBook = {
    world,
    leases: new Leases(context),
    grants: new Grants(context),
    handovers: new Handovers(context),
    at: 100,
    asked: 0,
  };
  return book;
}
