import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { showDatabase } from '@oncue/db'
import { createEmptyPostgresDatabase } from '@oncue/db/testing'
import { createFolder, eventually, type Folder } from '@oncue/testing'
import { afterEach, beforeEach, describe, expect, inject, onTestFinished, test } from 'vitest'
import { run, start } from './harness.ts'

let folder: Folder
beforeEach(async () => {
  folder = await createFolder()
  await folder.write('jobs.mjs', 'export const workers = { async hello(job) { return job.payload } }')
})
afterEach(() => folder.remove())

async function dev(env: Record<string, string>) {
  const process = start(['dev', '--import', './jobs.mjs', '--port', '0'], env, folder.path)
  onTestFinished(async () => {
    await process.stop('SIGKILL')
  })
  const { url, adminToken, database } = await process.said('Oncue is running')
  await process.said('worker started')
  const stop = async () => {
    return process.stop('SIGINT')
  }
  return { url: String(url), token: adminToken as string | null, database, stop }
}

const DATABASES: [name: string, env: () => Promise<Record<string, string>>][] = [
  ['SQLite in .oncue', async () => ({})],
  [
    'Postgres in DATABASE_URL',
    async () => {
      const database = await createEmptyPostgresDatabase(inject('postgresUrl'))
      onTestFinished(() => database.drop())
      return { DATABASE_URL: database.url }
    },
  ],
]

describe.each(DATABASES)('oncue dev, on %s', (_, createEnv) => {
  test('migrates, shows a token only at its first start, runs jobs, and stops when asked', async () => {
    const env = await createEnv()
    const first = await dev(env)
    const url = env.DATABASE_URL ?? `file:${join(folder.path, '.oncue/oncue.db')}`
    expect(first.database).toContain(showDatabase(url))
    const headers = { authorization: `Bearer ${first.token}`, 'content-type': 'application/json' }
    const body = JSON.stringify({ topic: 'hello', payload: { a: 1 } })
    expect((await fetch(`${first.url}/api/jobs/enqueue`, { method: 'POST', headers, body })).status).toBe(201)
    const completed = async () =>
      ((await (await fetch(`${first.url}/api/jobs/stats`, { headers })).json()) as { completed: number })
        .completed
    await eventually(async () => expect(await completed()).toBe(1))
    expect(await first.stop()).toBe(0)

    const second = await dev(env)
    expect(second.token).toBeNull()
    const again = await fetch(`${second.url}/api/jobs`, { headers })
    expect(again.status).toBe(200)
    expect(await second.stop()).toBe(0)
  })
})

test('its folder is kept out of repositories, and other commands reach its database', async () => {
  const { stop } = await dev({})
  expect(await readFile(join(folder.path, '.oncue/.gitignore'), 'utf8')).toBe('*\n')
  const stats = await run(['stats', '--url', 'file:./.oncue/oncue.db', '--json'], { cwd: folder.path })
  expect(JSON.parse(stats.stdout)).toMatchObject({ completed: 0 })
  expect(await stop()).toBe(0)
})

test('a module that cannot be used is wrong usage, and nothing is created', async () => {
  const { code, stderr } = await run(['dev', '--import', './missing.mjs'], { cwd: folder.path })
  expect([code, stderr]).toEqual([2, expect.stringMatching(/^error INVALID_MODULE: there is no file/)])
  expect(existsSync(join(folder.path, '.oncue'))).toBe(false)
})
