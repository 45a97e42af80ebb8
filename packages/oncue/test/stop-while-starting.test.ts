import { openStore } from '@oncue/db'
import {
  connectPostgres,
  createDatabase,
  DIALECTS,
  type Dialect,
  holdWrites,
  type TestDatabase,
} from '@oncue/db/testing'
import { createFolder, type Folder, type Program, Relay, until } from '@oncue/testing'
import { afterEach, beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { start } from './harness.ts'

const JOBS = `
  process.stdout.write('{"msg":"module loaded"}\\n')
  export const workers = { async hello(job) { return job.payload } }
`
const COMMANDS: [name: string, args: string[], first: string][] = [
  ['api', [], 'starting'],
  ['worker', ['--import', './jobs.mjs'], 'module loaded'],
  ['dev', ['--import', './jobs.mjs', '--port', '0'], 'module loaded'],
]

describe.each(COMMANDS)('oncue %s that is asked to stop while it waits', (name, args, first) => {
  let folder: Folder
  beforeEach(async () => {
    folder = await createFolder()
    await folder.write('jobs.mjs', JOBS)
  })
  afterEach(() => folder.remove())

  async function given(dialect: Dialect): Promise<TestDatabase> {
    const database = await createDatabase(dialect)
    onTestFinished(() => database.drop())
    return database
  }

  async function startOn(url: string): Promise<Program> {
    const process = start([name, ...args], { DATABASE_URL: url, ONCUE_PORT: '0' }, folder.path)
    onTestFinished(async () => void (await process.stop('SIGKILL')))
    await process.said(first)
    return process
  }

  async function expectToStop(process: Program): Promise<void> {
    expect([await process.stop('SIGTERM'), process.stderr]).toEqual([
      0,
      expect.not.stringMatching(/error|warning/i),
    ])
    expect(process.lines.at(-1)?.msg).toMatch(/^stopped before the (API|worker) had started$/)
  }

  test.each(DIALECTS)(
    'for a table that another connection has locked ends with 0, on %s',
    async (dialect) => {
      const database = await given(dialect)
      const release = await holdWrites(database.url)
      const process = await startOn(database.url)
      await expectToStop(process)
      await release()
      const store = await openStore(database.url)
      expect([await store.workers(), await store.topics()]).toEqual([[], []])
      await store.close()
    },
  )

  test('for a locked table leaves no statement waiting on Postgres', async () => {
    const database = await given('postgres')
    const release = await holdWrites(database.url)
    const session = await connectPostgres(database.url)
    const waiting = () =>
      session.query(
        `select query from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
      )
    const process = await startOn(database.url)
    await until(async () => (await waiting()).length > 0)
    await expectToStop(process)
    expect(await waiting()).toEqual([])
    await session.end()
    await release()
  })

  test('for a Postgres that accepts connections and never replies ends with 0', async () => {
    const database = await given('postgres')
    const relay = await Relay.start(database.url)
    onTestFinished(() => relay.close())
    relay.vanish()
    const process = await startOn(relay.url)
    await relay.connected
    await expectToStop(process)
  })
})
