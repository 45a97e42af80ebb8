import { parseArgs } from 'node:util'
import { createPostgresDatabase, createSqliteDatabase, startPostgres } from '../support/index.ts'
import { runModel } from './run.ts'

const HELP = `pnpm model [options]

Lets many actors enqueue, claim, settle, abandon, requeue, run now, cancel, delete and prune at once, from several
processes, and checks that no job is lost, settled twice or stuck, and that limits and keys hold.

Options:
  --database NAME   postgres or sqlite; both when absent
  --rounds N        how often, each with the next random number (10)
  --random N        the random number of the first round (1)
  --processes N     4
  --actors N        actors in each process (16)
  --steps N         things that each actor does (200)
  --help            this text

Postgres is started from npm for the run. Exits with 1 when something did not hold.
`

const { values } = parseArgs({
  options: {
    database: { type: 'string' },
    rounds: { type: 'string', default: '10' },
    random: { type: 'string', default: '1' },
    processes: { type: 'string', default: '4' },
    actors: { type: 'string', default: '16' },
    steps: { type: 'string', default: '200' },
    help: { type: 'boolean', short: 'h', default: false },
  },
})

const SHOWN = 20
const say = (text: string) => process.stdout.write(`${text}\n`)

async function rounds(name: string, createDatabase: () => Promise<{ url: string; drop(): Promise<void> }>) {
  const first = Number(values.random)
  const sizes = {
    processes: Number(values.processes),
    actors: Number(values.actors),
    steps: Number(values.steps),
  }
  for (let random = first; random < first + Number(values.rounds); random++) {
    const database = await createDatabase()
    const { violations, record, moments, deadlocks } = await runModel(database.url, { random, ...sizes })
    await database.drop()
    const calls = Object.values(record.calls).reduce((sum, times) => sum + times, 0)
    say(
      `${name} --random ${random}: ${calls} calls, ${record.claims.length} runs, ${moments} moments, ${deadlocks} deadlocks, ` +
        `${violations.length} violations`,
    )
    for (const violation of violations.slice(0, SHOWN)) say(`  ${violation}`)
    if (violations.length > SHOWN) say(`  and ${violations.length - SHOWN} more`)
    if (violations.length > 0) process.exitCode = 1
  }
}

if (values.help) say(HELP)
else {
  if (values.database !== 'sqlite') {
    const server = await startPostgres()
    await rounds('postgres', () => createPostgresDatabase(server.url)).finally(() => server.stop())
  }
  if (values.database !== 'postgres') await rounds('sqlite', createSqliteDatabase)
}
