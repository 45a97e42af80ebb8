import { randomBytes } from 'node:crypto'
import type pg from 'pg'
import { progress } from '../report.ts'
import type { BenchDatabase } from '../server.ts'
import { createBareTables, openBarePostgres, RESET } from './bare-postgres.ts'
import type { Contender } from './contender.ts'
import { openOncue } from './oncue.ts'
import { drain, enqueueAll, someJobs } from './steps.ts'

export interface WalResult {
  readonly payloadBytes: number
  /** Bytes per job. */
  readonly oncue: { readonly enqueue: number; readonly drain: number }
  readonly bare: { readonly enqueue: number; readonly drain: number }
}

/** Bulk size and number of bulks, so that each size writes about the same. */
const SIZES = [
  { payloadBytes: 100, bulk: 1_000, bulks: 4 },
  { payloadBytes: 1_000, bulk: 1_000, bulks: 4 },
  { payloadBytes: 10_000, bulk: 500, bulks: 2 },
  { payloadBytes: 100_000, bulk: 50, bulks: 4 },
]

/** How much Postgres logs for a job: a number that does not depend on how busy the machine is. */
export async function measureWal(database: BenchDatabase): Promise<WalResult[]> {
  const oncue = await openOncue(database.url)
  await createBareTables(database.admin)
  const bare = await openBarePostgres(database.url)
  const results: WalResult[] = []
  try {
    for (const size of SIZES) {
      progress(`WAL: payloads of ${size.payloadBytes} bytes`)
      results.push({
        payloadBytes: size.payloadBytes,
        oncue: await bytesOf(oncue, database.admin, size),
        bare: await bytesOf(bare, database.admin, size),
      })
    }
  } finally {
    await oncue.close()
    await bare.close()
  }
  return results
}

async function bytesOf(
  contender: Contender,
  admin: pg.Client,
  { payloadBytes, bulk, bulks }: (typeof SIZES)[number],
) {
  await admin.query(RESET)
  const batches = Array.from({ length: bulks }, () =>
    Array.from({ length: bulk }, () => someJobs(1, incompressible(payloadBytes))).flat(),
  )
  const start = await position(admin)
  const { jobs } = await enqueueAll(contender, batches)
  const filled = await position(admin)
  await drain(contender)
  const drained = await position(admin)
  return { enqueue: (filled - start) / jobs, drain: (drained - filled) / jobs }
}

async function position(admin: pg.Client): Promise<number> {
  const { rows } = await admin.query(
    `select pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::float8 as at`,
  )
  return rows[0]?.at
}

/** Postgres compresses what it can; a repeated letter would look cheap. */
function incompressible(jsonBytes: number): string {
  return randomBytes(jsonBytes)
    .toString('base64')
    .slice(0, jsonBytes - 2)
}
