/** What a dialect can and cannot do. A conformance case may be skipped only on one of these. */
export type Capabilities = {
  /** Time comes from the database, so hosts with skewed clocks agree. SQLite has the host's clock only. */
  readonly databaseClock: boolean
  /** Jobs can be claimed at the same moment by two transactions. SQLite has one writer at a time. */
  readonly concurrentWriters: boolean
  /** A store can lose its connection while the database keeps running. A SQLite file has no connection to lose. */
  readonly connections: boolean
  /**
   * A connection is a session: a worker's crash is noticed at once, and wake-ups arrive. Behind a transaction
   * pooler neither works; expired leases and polling replace them there.
   */
  readonly sessions: boolean
}

export const POSTGRES: Capabilities = {
  databaseClock: true,
  concurrentWriters: true,
  connections: true,
  sessions: true,
}

export const SQLITE: Capabilities = {
  databaseClock: false,
  concurrentWriters: false,
  connections: false,
  sessions: true,
}
