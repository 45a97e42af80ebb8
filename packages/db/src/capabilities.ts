/** What a dialect can and cannot do. A conformance case may be skipped only on one of these. */
export type Capabilities = {
  /** Time comes from the database, so hosts with skewed clocks agree. SQLite has the host's clock only. */
  readonly databaseClock: boolean
  /** Jobs can be claimed at the same moment by two transactions. SQLite has one writer at a time. */
  readonly concurrentWriters: boolean
  /** A store can lose its connection while the database lives on. A SQLite file has no connection to lose. */
  readonly connections: boolean
  /**
   * A connection is a session: others see a worker die, and wake-ups arrive. Behind a transaction
   * pooler neither does; the lease and the poll do the work there.
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
