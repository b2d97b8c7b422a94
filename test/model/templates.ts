// The shapes that protocol bugs need, as short runs of steps that are mixed into random ones.
import { FULL } from "./cast.ts";
import { LEASE_TEMPLATES, NOTE, registered, type Template } from "./lease-templates.ts";
import { json } from "./plot.ts";
import { cursorOf, leaseOf, lifeOf, nowAnd } from "./scenario.ts";
import { output } from "./steps.ts";

export const TEMPLATES: readonly Template[] = [
  ...LEASE_TEMPLATES,
  {
    name: "prune, then register again and act for the old life",
    play: (plot) => {
      const id = registered(plot);
      const lease = plot.add("leases.claim", id, plot.owner(), 1_000_000);
      plot.add("grants.grant", plot.scope(), id, { kind: "a" });
      plot.add("processes.completeWithLease", leaseOf(lease, id), output(plot));
      const late = plot.add("leases.claim", id, plot.owner(), 1_000_000);
      plot.add("processes.prune", { updatedBeforeMs: nowAnd(1) });
      plot.add("processes.get", id);
      plot.add("leases.renew", leaseOf(late, id), 5);
      const again = plot.add("processes.register", plot.registration(id, plot.draw.pick([0, 2])));
      plot.add("events.append", id, NOTE, { lease: leaseOf(late, id) });
      plot.add("processes.completeWithLease", leaseOf(late, id), output(plot));
      plot.add("leases.release", leaseOf(late, id));
      plot.add("processes.requestAbandon", id, { requestedBy: "ops" }, { ifLife: lifeOf(late) });
      plot.add("events.append", id, NOTE, { ifLife: lifeOf(again) });
      plot.add("leases.claim", id, plot.owner(), 10);
      plot.add("events.after", id, 0);
      plot.add("grants.forProcess", id);
    },
  },
  {
    name: "the same wake of two lives, and of one constant key",
    play: (plot) => {
      const { id } = FULL;
      for (let life = 0; life < 2; life += 1) {
        plot.add("processes.register", FULL);
        for (const eventType of ["wake", "fixed"])
          plot.add("events.append", id, {
            eventType,
            payload: { wakeInput: "go" },
            replay: { key: eventType },
            wakeTargetScope: plot.cast.scopes[0],
          });
        plot.add("processes.complete", id, { type: "success", value: life }, { type: "externalOwner", grantedTo: "host" });
        plot.add("processes.prune", { updatedBeforeMs: nowAnd(1) });
      }
    },
  },
  {
    name: "one replay key with equal, reordered and other content",
    play: (plot) => {
      const id = registered(plot);
      const append = (payload: object, eventType = "wake"): number =>
        plot.add("events.append", id, { eventType, payload, replay: { key: "again" }, wakeTargetScope: plot.scope() });
      append({ a: 1, wakeInput: "w" });
      append({ a: 1, wakeInput: "w" });
      append({ wakeInput: "w", a: 1 });
      append({ a: 2, wakeInput: "w" });
      append({ a: 1, wakeInput: "w" }, "note");
      plot.add("events.after", id, 0);
    },
  },
  {
    name: "transfers to itself, of the same twice, of a missing one",
    play: (plot) => {
      const all = plot.cast.processes;
      for (const id of all)
        plot.add("processes.registerWithGrant", plot.registration(id, 0), {
          scope: plot.cast.scopes[0],
          descriptor: { kind: id },
        });
      const [from, to] = plot.cast.scopes;
      if (plot.draw.chance(50)) plot.add("grants.grant", to, all[0], { label: "of the target" });
      plot.add("grants.transfer", from, from, [...all, ...all]);
      plot.add("grants.transfer", from, to, [all[0], all[0]]);
      plot.add("grants.transfer", from, to, [...all, plot.draw.chance(50) ? "nobody" : json(all[0])]);
      plot.add("processes.register", FULL);
      plot.add("grants.transfer", from, to, [...all, FULL.id]);
      plot.add("grants.list", from);
      plot.add("grants.transfer", from, to, all);
      plot.add("grants.transfer", from, to, all);
      for (const scope of [from, to]) plot.add("grants.list", scope);
    },
  },
  {
    name: "a session with frames is deleted, then revoked and given again",
    play: (plot) => {
      const id = registered(plot);
      const [bare, frame, other] = plot.cast.scopes;
      for (const scope of [bare, frame, ...(plot.draw.chance(50) ? [other] : [])]) plot.add("grants.grant", scope, id, {});
      if (plot.draw.chance(30)) plot.add("grants.revoke", frame, id);
      plot.add("grants.deleteSession", bare?.sessionId, { limit: 1 });
      plot.add("grants.deleteSession", bare?.sessionId);
      plot.add("grants.forProcess", id);
      plot.add("processes.get", id);
    },
  },
  {
    name: "ends that race",
    play: (plot) => {
      const id = registered(plot);
      const claim = plot.add("leases.claim", id, plot.owner(), 1_000);
      const authority = plot.draw.pick([
        { type: "externalOwner", grantedTo: "host" },
        { type: "workflowKey", workflowKey: "w" },
      ]);
      const ends = [
        () => plot.add("processes.completeWithLease", leaseOf(claim, id), { type: "success", value: 1 }),
        () => plot.add("processes.completeWithLease", leaseOf(claim, id), { type: "cancelled", message: "m" }),
        () => plot.add("processes.complete", id, { type: "success", value: 1 }, authority),
        () =>
          plot.add("processes.complete", id, { type: "abandoned", evidence: { writer: "sweep" } }, { type: "reconciledAbandon" }),
      ];
      for (const end of plot.draw.shuffled([...ends, ...ends])) end();
      plot.add("processes.get", id);
    },
  },
  {
    name: "what is put is kept once, and taken away once",
    play: (plot) => {
      const id = registered(plot);
      for (let i = 0; i < 2; i += 1) plot.add("processes.setWait", id, { name: "go", ordinal: 1 });
      for (let i = 0; i < 2; i += 1) plot.add("processes.clearWait", id);
      for (const segmentOrdinal of plot.draw.shuffled([0, 1, 2, 2, 3]))
        plot.add("handovers.put", id, { segmentOrdinal, reason: "journalBudget", engineState: plot.draw.int(0, 1) });
      plot.add("handovers.latest", id);
      for (let i = 0; i < 2; i += 1) plot.add("handovers.delete", id);
      for (const sequence of [1, 2, 2]) plot.add("events.ackWake", id, sequence);
      plot.add("events.wakesAfter", id, 0);
      for (const ref of ["1", "1", "2"]) plot.add("processes.setExternalRef", id, { backend: "b", id: ref });
    },
  },
  {
    name: "one refusal of each kind",
    play: (plot) => {
      const { id } = FULL;
      const ref = { backend: "b", id: "1" };
      plot.add("processes.register", FULL);
      plot.add("processes.register", { ...FULL, eventTypes: [] });
      plot.add("processes.register", { ...FULL, id: "full of faults", envRef: "e" });
      for (const metadata of [0, 1]) plot.add("processes.setExternalRef", id, { ...ref, metadata });
      for (const ordinal of [0, 1])
        plot.add("handovers.put", id, { segmentOrdinal: 0, reason: "durationCap", engineState: ordinal });
      for (const eventType of ["undeclared", "numbered", "grouped", "done", "process.completed"])
        plot.add("events.append", id, { eventType, payload: {} });
      for (const payload of [1, 2]) plot.add("events.append", id, { eventType: "note", payload, replay: { key: "k1" } });
      for (const key of ["d1", "d2"]) plot.add("events.append", id, { eventType: "done", payload: 0, replay: { key } });
      plot.add("processes.setWait", id, { name: "not a name", ordinal: 1 });
      plot.add("processes.complete", id, { type: "success", value: 1 }, { type: "workflowKey", workflowKey: "w" });
      plot.add("grants.transfer", plot.cast.scopes[0], plot.cast.scopes[1], [id]);
      plot.add("leases.renew", leaseOf(9_998, id), 1);
      plot.add("processes.prune", { updatedBeforeMs: nowAnd(0), statuses: ["running"] });
    },
  },
  {
    name: "the changes and the lists, page by page",
    play: (plot) => {
      for (const id of plot.cast.processes)
        plot.add("processes.registerWithGrant", plot.registration(id), { scope: plot.cast.scopes[0], descriptor: {} });
      let last = plot.add("processes.list", { status: "any" }, { limit: 1 });
      for (let i = 0; i < 3; i += 1) last = plot.add("processes.list", { status: "any" }, { limit: 1, cursor: cursorOf(last) });
      last = plot.add("grants.list", plot.cast.scopes[0], { limit: 1 });
      for (let i = 0; i < 2; i += 1) last = plot.add("grants.list", plot.cast.scopes[0], { limit: 1, cursor: cursorOf(last) });
      for (const limit of [1, 2]) plot.add("processes.changedSince", plot.position(), limit);
      plot.add("processes.liveReferences", { limit: 1 });
    },
  },
];
