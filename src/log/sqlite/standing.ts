// Whether a handle may still be used, and on which connection: it ends once and for good; a lost connection is opened anew.
import type { Clock } from "../../core/clock.ts";
import { isDeedbookError, type DeedbookError } from "../../core/errors.ts";
import type { TableDef } from "../rows.ts";
import { reopen, type Connection, type ConnectionOptions } from "./connection.ts";
import { FileWatch } from "./file.ts";

/** The standing of one handle: to be asked before each attempt of each call, since it may change while one waits for a lock. */
export class Standing {
  private present: Connection;
  private endedBy: DeedbookError | undefined;
  private lost = false;
  private readonly options: ConnectionOptions;
  private readonly tables: readonly TableDef[];
  private readonly file: FileWatch;

  constructor(connection: Connection, options: ConnectionOptions, tables: readonly TableDef[], clock: Clock) {
    this.present = connection;
    this.options = options;
    this.tables = tables;
    this.file = new FileWatch(options.path, clock);
  }

  get connection(): Connection {
    return this.present;
  }

  /** Why the handle has ended; undefined while it may be used. */
  get ended(): DeedbookError | undefined {
    return this.endedBy;
  }

  /** Ends the handle. The first reason stands, whatever is found out later. */
  end(reason: DeedbookError): DeedbookError {
    return (this.endedBy ??= reason);
  }

  /** After a failed COMMIT nobody knows what the connection holds: it is given up, and the file opened anew by whoever comes next. */
  lose(): void {
    this.lost = true;
    this.present.safeRollback();
    this.present.driver.close();
  }

  /**
   * The connection to use now.
   *
   * @param look - look whether the file is there, even if it was seen a moment ago: to be given where it is opened by its path.
   * @throws DeedbookError what ended the handle; also now, when its file is gone.
   */
  ready(operation: string, look = this.lost): Connection {
    if (this.endedBy !== undefined) throw this.endedBy;
    const gone = this.file.gone(operation, look);
    if (gone !== undefined) throw this.end(gone);
    if (this.lost) this.present = reopen(this.options, this.tables);
    this.lost = false;
    return this.present;
  }

  /** Runs one attempt on the connection; a newer format or table version that it meets ends the handle. */
  attempt<T>(operation: string, work: (connection: Connection) => T): T {
    const connection = this.ready(operation);
    try {
      return work(connection);
    } catch (error) {
      throw isDeedbookError(error, "schema_unsupported") ? this.end(error) : error;
    }
  }
}
