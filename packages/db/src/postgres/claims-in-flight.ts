import type { PostgresClient } from './client.ts'

/** A claim takes milliseconds. What takes longer (a dump, say) only reads. */
const PATIENCE_MS = 1_000
const LOOK_EVERY_MS = 5

/**
 * Waits for the transactions that may have looked at `slots` before the last commit: a claim among
 * them did not see a new limit, and what it took can be counted only once it has committed.
 *
 * Every look at a table leaves a lock on it until the end of its transaction, so they can be seen.
 * Locking them out instead would stop all claims behind whoever holds the table longest.
 */
export async function claimsInFlight(client: PostgresClient): Promise<void> {
  const { runtime } = client
  const deadline = runtime.monotonic() + PATIENCE_MS
  let waitingFor = await lookers(client)
  while (waitingFor.length > 0 && runtime.monotonic() < deadline) {
    await runtime.sleep(LOOK_EVERY_MS)
    const still = new Set(await lookers(client))
    waitingFor = waitingFor.filter((looker) => still.has(looker))
  }
}

async function lookers(client: PostgresClient): Promise<string[]> {
  const rows = await client.rows<{ looker: string }>({
    text: `select l.virtualtransaction as looker from pg_catalog.pg_locks l
      where l.relation = 'oncue.slots'::regclass and l.pid <> pg_backend_pid()
        and l.database = (select d.oid from pg_catalog.pg_database d where d.datname = current_database())`,
    values: [],
  })
  return rows.map((row) => row.looker)
}
