import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestProject } from 'vitest/node'
import { readConfig } from '../../src/config.ts'
import { startPostgres } from './postgres-server.ts'

declare module 'vitest' {
  interface ProvidedContext {
    /** A server to make databases on: `createPostgresDatabase(inject('postgresUrl'))`. */
    postgresUrl: string
  }
}

/** The data of tests need not survive a power cut. */
const FAST = {
  fsync: 'off',
  full_page_writes: 'off',
  synchronous_commit: 'on',
  max_connections: '300',
}

/** One Postgres for the whole run: the one in DATABASE_URL, or else our own. */
export default async function setup(project: TestProject): Promise<(() => Promise<void>) | undefined> {
  const { databaseUrl, keepDatabases } = readConfig()
  if (databaseUrl !== undefined && /^postgres(ql)?:/.test(databaseUrl)) {
    project.provide('postgresUrl', databaseUrl)
    return undefined
  }
  const kept = keepDatabases ? await mkdtemp(join(tmpdir(), 'oncue-kept-')) : undefined
  const server = await startPostgres({ settings: FAST, ...(kept && { dataDir: kept }) })
  project.provide('postgresUrl', server.url)
  return async () => {
    await server.stop()
    if (kept) process.stderr.write(`kept the Postgres cluster ${kept}\n`)
  }
}
