import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestDatabase } from '@oncue/db/testing'
import { openStore, silentLogger, startWorker } from 'oncue'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { DATABASES, pathOf } from '../programs.ts'
import { createWorkers, type Sale } from './workers.ts'

const SALES: Sale[] = [
  { at: new Date('2026-01-01T09:00:00Z'), amount: 30 },
  // Midnight in Berlin is 23:00 in UTC.
  { at: new Date('2026-01-01T22:59:00Z'), amount: 12 },
  { at: new Date('2026-01-01T23:00:00Z'), amount: 500 },
]

describe.each(DATABASES)('the report, on $dialect', ({ create }) => {
  let database: TestDatabase
  let folder: string
  beforeEach(async () => {
    database = await create()
    folder = await mkdtemp(join(tmpdir(), 'oncue-reports-'))
  })
  afterEach(async () => {
    await rm(folder, { recursive: true })
    await database.drop()
  })

  test('is written at six in Berlin, about the day before', async () => {
    let now = new Date('2026-01-02T04:59:59Z')
    const store = await openStore(database.url, { clock: () => now })
    const worker = await startWorker({
      store,
      workers: createWorkers(SALES, folder),
      // The test makes the ticks, by its own clock.
      maintenance: false,
      lease: 'inline',
      log: silentLogger,
    })
    expect((await store.schedules.tick()).enqueued).toEqual([])
    now = new Date('2026-01-02T05:00:00Z')
    const [id = ''] = (await store.schedules.tick()).enqueued
    await worker.drain()
    const file = join(folder, 'sales-2026-01-01.csv')
    expect((await store.get(id))?.result).toEqual({ file, total: 42 })
    expect(await readFile(file, 'utf8')).toBe('day,sales,total\n2026-01-01,2,42\n')
    await worker.stop()
    await store.close()
  })

  test('the program says when the next one is due, and ends with Ctrl-C', async () => {
    const program = spawn(process.execPath, [pathOf('cron-report/main.ts'), database.url, folder])
    const [line] = await once(program.stdout, 'data')
    expect(`${line}`).toMatch(/^the next report is due at \d{4}-.*T0[45]:00:00\.000Z\n$/)
    program.kill('SIGINT')
    expect(await once(program, 'exit')).toEqual([0, null])
  })
})
