import { openBarePostgres } from '../store/bare-postgres.ts'
import { openBareSqlite } from '../store/bare-sqlite.ts'
import type { Contender, Run } from '../store/contender.ts'
import type { Start } from './contender.ts'

const BATCH = 500

/** Two connections: while one waits for the database, the jobs of the other run. */
export const startBarePostgres: Start = async (url, ran) =>
  running([await openBarePostgres(url), await openBarePostgres(url)], ran)

/** One: there is one writer at a time. */
export const startBareSqlite: Start = async (url, ran) =>
  running([openBareSqlite(url.slice('file:'.length))], ran)

function running(contenders: readonly Contender[], ran: () => void) {
  let loops: Promise<unknown> = Promise.resolve()
  return {
    go() {
      loops = Promise.all(contenders.map((contender) => drain(contender, ran)))
    },
    async stop() {
      await loops
      for (const contender of contenders) await contender.close()
    },
  }
}

async function drain(contender: Contender, ran: () => void): Promise<void> {
  const handler = async (_: Run) => ran()
  let runs = await contender.claim(BATCH)
  while (runs.length > 0) {
    await Promise.all(runs.map(handler))
    runs = await contender.settleAndClaim(runs, BATCH)
  }
}
