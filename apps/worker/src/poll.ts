/** A worker that polls by itself ('auto') polls at least this often. */
export const LEAST_MAX_POLL_MS = 60_000
/** Long enough for a database that sleeps after five idle minutes to sleep most of the time. */
export const DEFAULT_MAX_POLL_MS = 900_000
