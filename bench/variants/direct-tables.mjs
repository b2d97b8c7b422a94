// The classic design without a log, made as well as one can: lean tables, prepared statements, checks by reads before writes.
import { hash } from "node:crypto";
import { join } from "node:path";
import Database from "better-sqlite3";

/** Small rows for what changes; the body of a registration is written once, beside them; partial indexes as lists need them. */
const SCHEMA = `
CREATE TABLE processes (
  key INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, state TEXT NOT NULL, disposition TEXT NOT NULL,
  registrationHash TEXT NOT NULL, eventTypes TEXT NOT NULL, createdAtMs INTEGER NOT NULL, updatedAtMs INTEGER NOT NULL,
  lastSequence INTEGER NOT NULL, terminalSequence INTEGER,
  leaseFence INTEGER NOT NULL, leaseToken TEXT, leaseOwner TEXT, leaseIncarnation TEXT, leaseClaimedAtMs INTEGER, leaseExpiresAtMs INTEGER
) STRICT;
CREATE INDEX processes_running ON processes (id) WHERE state = 'running';
CREATE INDEX processes_finished ON processes (updatedAtMs, id) WHERE state <> 'running';
CREATE TABLE registrations (key INTEGER PRIMARY KEY, json TEXT NOT NULL) STRICT;
CREATE TABLE events (
  process INTEGER NOT NULL, sequence INTEGER NOT NULL, eventType TEXT NOT NULL, replayKey TEXT, payloadHash TEXT NOT NULL,
  payload TEXT NOT NULL, atMs INTEGER NOT NULL, PRIMARY KEY (process, sequence)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX events_replay_key ON events (process, replayKey) WHERE replayKey IS NOT NULL;
CREATE TABLE grants (
  scopeId TEXT NOT NULL, process INTEGER NOT NULL, descriptor TEXT NOT NULL, PRIMARY KEY (scopeId, process)
) STRICT, WITHOUT ROWID;
CREATE INDEX grants_process ON grants (process, scopeId);
`;

/** Opens a file with the pragmas that a book has. @param {string} path @param {"full" | "normal"} durability */
export function openFile(path, durability) {
  const db = new Database(path, { timeout: 0 });
  db.pragma("journal_mode = WAL");
  db.pragma(`synchronous = ${durability === "full" ? 2 : 1}`);
  db.pragma("wal_autocheckpoint = 1000");
  db.pragma("foreign_keys = 1");
  return db;
}

/** @param {import("better-sqlite3").Database} db */
function statements(db) {
  const LEASE = "leaseFence, leaseToken, leaseOwner, leaseIncarnation, leaseClaimedAtMs, leaseExpiresAtMs";
  return {
    known: db.prepare("SELECT registrationHash FROM processes WHERE id = ?").pluck(),
    insert: db.prepare(
      `INSERT INTO processes (id, state, disposition, registrationHash, eventTypes, createdAtMs, updatedAtMs, lastSequence, leaseFence)
       VALUES (?, 'running', ?, ?, ?, ?, ?, 0, 0)`,
    ),
    insertBody: db.prepare("INSERT INTO registrations (key, json) VALUES (?, ?)"),
    key: db.prepare("SELECT key FROM processes WHERE id = ?").pluck(),
    grantOf: db.prepare("SELECT descriptor FROM grants WHERE scopeId = ? AND process = ?").pluck(),
    putGrant: db.prepare("INSERT OR REPLACE INTO grants (scopeId, process, descriptor) VALUES (?, ?, ?)"),
    lease: db.prepare(`SELECT key, ${LEASE} FROM processes WHERE id = ?`),
    claim: db.prepare(
      `UPDATE processes SET leaseFence = ?, leaseToken = ?, leaseOwner = ?, leaseIncarnation = ?, leaseClaimedAtMs = ?,
       leaseExpiresAtMs = ? WHERE key = ?`,
    ),
    expiry: db.prepare("UPDATE processes SET leaseExpiresAtMs = ? WHERE key = ?"),
    free: db.prepare(
      `UPDATE processes SET leaseToken = NULL, leaseOwner = NULL, leaseIncarnation = NULL, leaseClaimedAtMs = NULL,
       leaseExpiresAtMs = NULL WHERE key = ?`,
    ),
    writable: db.prepare(`SELECT key, state, eventTypes, lastSequence, ${LEASE} FROM processes WHERE id = ?`),
    keyed: db.prepare("SELECT sequence, payloadHash FROM events WHERE process = ? AND replayKey = ?"),
    event: db.prepare(
      "INSERT INTO events (process, sequence, eventType, replayKey, payloadHash, payload, atMs) VALUES (?, ?, ?, ?, ?, ?, ?)",
    ),
    appended: db.prepare("UPDATE processes SET lastSequence = ?, updatedAtMs = ? WHERE key = ?"),
    ended: db.prepare(
      `UPDATE processes SET state = ?, terminalSequence = ?, lastSequence = ?, updatedAtMs = ?, leaseToken = NULL, leaseOwner = NULL,
       leaseIncarnation = NULL, leaseClaimedAtMs = NULL, leaseExpiresAtMs = NULL WHERE key = ?`,
    ),
  };
}

/** A refusal: thrown before anything was written, so it undoes nothing. @param {string} code */
function refuse(code) {
  return Object.assign(new Error(code), { code });
}

/** @param {any} row @param {any} lease @param {number} at */
function checkLease(row, lease, at) {
  const current = row.leaseToken === lease.leaseToken && row.leaseFence === lease.fencingToken;
  const owner = row.leaseOwner === lease.owner.ownerId && row.leaseIncarnation === lease.owner.incarnationId;
  if (!current || !owner || row.leaseExpiresAtMs <= at) throw refuse("lease_lost");
}

/**
 * The operations, to be run inside a transaction.
 *
 * @param {string} folder
 * @param {"full" | "normal"} durability
 */
export function directTables(folder, durability) {
  const db = openFile(join(folder, "direct.db"), durability);
  db.exec(SCHEMA);
  const s = statements(db);
  /** @param {any} row @param {string} id @param {string} type @param {unknown} payload @param {string | undefined} key @param {any} lease */
  const plan = (row, id, type, payload, key, lease) => {
    if (row === undefined) throw refuse("process_unknown");
    const text = JSON.stringify(payload);
    const payloadHash = hash("sha256", `${type}\n${text}`, "hex");
    const keyed = /** @type {any} */ (key === undefined ? undefined : s.keyed.get(row.key, key));
    if (keyed !== undefined && keyed.payloadHash !== payloadHash) throw refuse("replay_key_conflict");
    if (keyed !== undefined)
      return { replayed: true, event: { processId: id, sequence: keyed.sequence, eventType: type, payload } };
    const at = Date.now();
    if (lease !== undefined) checkLease(row, lease, at);
    const sequence = row.lastSequence + 1;
    s.event.run(row.key, sequence, type, key ?? null, payloadHash, text, at);
    return { replayed: false, event: { processId: id, sequence, eventType: type, payload, occurredAtMs: at } };
  };
  return {
    db,
    /** @param {any} registration */
    register(registration) {
      const json = JSON.stringify(registration);
      const registrationHash = hash("sha256", json, "hex");
      const known = s.known.get(registration.id);
      if (known !== undefined && known !== registrationHash) throw refuse("registration_conflict");
      if (known !== undefined) return { created: false, process: registration };
      const at = Date.now();
      const names = JSON.stringify(registration.eventTypes.map((/** @type {any} */ type) => type.name));
      const { lastInsertRowid } = s.insert.run(registration.id, registration.disposition, registrationHash, names, at, at);
      s.insertBody.run(lastInsertRowid, json);
      return {
        created: true,
        process: { ...registration, registrationHash, createdAtMs: at, updatedAtMs: at, status: "running" },
      };
    },
    /** @param {any} scope @param {string} processId @param {any} descriptor */
    grant(scope, processId, descriptor) {
      const scopeId = `session:${scope.sessionId}`;
      const json = JSON.stringify(descriptor);
      const key = s.key.get(processId);
      if (key === undefined) throw refuse("process_unknown");
      if (s.grantOf.get(scopeId, key) !== json) s.putGrant.run(scopeId, key, json);
      return { scope, scopeId, processId, descriptor };
    },
    /** @param {string} processId @param {any} owner @param {number} ttlMs */
    claim(processId, owner, ttlMs) {
      const row = /** @type {any} */ (s.lease.get(processId));
      if (row === undefined) throw refuse("process_unknown");
      const at = Date.now();
      const held = row.leaseToken !== null && row.leaseExpiresAtMs > at;
      if (held && (row.leaseOwner !== owner.ownerId || row.leaseIncarnation !== owner.incarnationId)) return { kind: "busy" };
      const fencingToken = held ? row.leaseFence : row.leaseFence + 1;
      const leaseToken = held
        ? row.leaseToken
        : hash("sha256", `${processId}\n${owner.ownerId}\n${owner.incarnationId}\n${fencingToken}`, "hex");
      const claimedAtMs = held ? row.leaseClaimedAtMs : at;
      s.claim.run(fencingToken, leaseToken, owner.ownerId, owner.incarnationId, claimedAtMs, at + ttlMs, row.key);
      return { kind: "acquired", lease: { processId, owner, leaseToken, fencingToken, claimedAtMs, expiresAtMs: at + ttlMs } };
    },
    /** @param {any} lease @param {number} ttlMs */
    renew(lease, ttlMs) {
      const row = /** @type {any} */ (s.lease.get(lease.processId));
      const at = Date.now();
      if (row === undefined) throw refuse("lease_lost");
      checkLease(row, lease, at);
      s.expiry.run(at + ttlMs, row.key);
      return { ...lease, expiresAtMs: at + ttlMs };
    },
    /** @param {any} lease */
    release(lease) {
      const row = /** @type {any} */ (s.lease.get(lease.processId));
      if (row?.leaseToken !== lease.leaseToken || row.leaseFence !== lease.fencingToken) return { released: false };
      s.free.run(row.key);
      return { released: true };
    },
    /** @param {string} processId @param {any} request @param {any} lease */
    append(processId, request, lease) {
      const row = /** @type {any} */ (s.writable.get(processId));
      if (row !== undefined && !JSON.parse(row.eventTypes).includes(request.eventType)) throw refuse("event_type_undeclared");
      const answer = plan(row, processId, request.eventType, request.payload, request.replay?.key, lease);
      if (!answer.replayed) s.appended.run(answer.event.sequence, answer.event.occurredAtMs, row.key);
      return answer;
    },
    /** @param {any} lease @param {any} output */
    complete(lease, output) {
      const row = /** @type {any} */ (s.writable.get(lease.processId));
      const answer = plan(row, lease.processId, "process.completed", { awaitOutput: output }, "completed", lease);
      if (answer.replayed) return answer;
      if (row.state !== "running") throw refuse("process_terminal");
      const { sequence, occurredAtMs } = answer.event;
      s.ended.run("completed", sequence, sequence, occurredAtMs, row.key);
      return {
        ...answer,
        process: { id: lease.processId, status: { state: "completed", awaitOutput: output }, updatedAtMs: occurredAtMs },
      };
    },
  };
}
