import { fork } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { prepareJob } from '@oncue/core'
import { observeFor } from '@oncue/testing'
import { afterEach, beforeEach, describe, expect, inject, it } from 'vitest'
import { type Client, openClient } from '../src/control/client.ts'
import { openControl } from '../src/control/index.ts'
import { openStore } from '../src/open.ts'
import { PostgresStore } from '../src/postgres/store.ts'
import { SqliteStore } from '../src/sqlite/store.ts'
import type { Store } from '../src/store.ts'
import { sqliteFile } from '../src/url.ts'
import { borrowPostgresDatabase, createSqliteDatabase, type TestDatabase } from './support/index.ts'

const DATABASES = {
  Postgres: () => borrowPostgresDatabase(inject('postgresUrl')),
  SQLite: createSqliteDatabase,
}

const setting = (key: string) => ({ key, value: 1, updated: new Date(0) })

describe.each(Object.entries(DATABASES))('Prisma over the connections of a store on %s', (_, create) => {
  let database: TestDatabase
  let store: Store
  let client: Client
  beforeEach(async () => {
    database = await create()
    store = await openStore(database.url)
    if (!(store instanceof PostgresStore || store instanceof SqliteStore)) throw new Error('no store of ours')
    client = await openClient(store.connection)
  })
  afterEach(async () => {
    await store.close()
    await database.drop()
  })

  const keys = async () => (await client.setting.findMany({ orderBy: { key: 'asc' } })).map(({ key }) => key)

  it('fails with the codes of Oncue, and keeps the cause', async () => {
    await client.setting.create({ data: setting('a') })
    await expect(client.setting.create({ data: setting('a') })).rejects.toMatchObject({
      name: 'OncueError',
      code: 'DATABASE_REFUSED',
      cause: expect.any(Error),
    })
  })

  it('changes settings all or none, also when others change them in another order', async () => {
    const { settings } = await openControl(store)
    await settings.change({ set: { a: 1 } })
    await expect(settings.change({ set: { b: 2, c: 1n }, reset: ['a'] })).rejects.toMatchObject({
      code: 'UNSAFE_NUMBER',
    })
    expect(await keys()).toEqual(['a'])
    const orders = [
      ['a', 'b', 'c'],
      ['c', 'b', 'a'],
    ]
    await Promise.all(
      Array.from({ length: 60 }, (_, n) =>
        settings.change({ set: Object.fromEntries((orders[n % 2] ?? []).map((key) => [key, n])) }),
      ),
    )
    const values = (await settings.all()).map(({ value }) => value)
    expect(new Set(values).size).toBe(1)
  })

  it('finds a row by its id whatever else the filter asks for', async () => {
    const { tokens } = await openControl(store)
    const create = (n: number) =>
      tokens.create({ kind: 'token', name: `t${n}`, role: 'viewer', hash: String(n).repeat(64) })
    const ids = [(await create(1)).id, (await create(2)).id]
    const alone = await tokens.get(ids[0]?.toUpperCase() ?? '')
    const [beside] = await Promise.all([tokens.get(ids[0]?.toUpperCase() ?? ''), tokens.get(ids[1] ?? '')])
    expect(beside).toEqual(alone)
  })

  it('accepts ids in lower case only, like those of jobs', async () => {
    const { tokens } = await openControl(store)
    const { id } = await tokens.create({ kind: 'token', name: 't', role: 'viewer', hash: 'a'.repeat(64) })
    const upper = id.toUpperCase()
    expect(await tokens.get(upper)).toBeNull()
    expect(await tokens.getMany([upper])).toEqual([])
    await expect(tokens.rename(upper, 'u')).rejects.toMatchObject({ code: 'TOKEN_NOT_FOUND' })
    const [job = ''] = await store.enqueue([prepareJob('mail', null)])
    expect(await store.get(job.toUpperCase())).toBeNull()
  })

  it.each([new Date(Number.NaN), new Date(8.64e15), new Date(-8.64e15)])(
    'refuses the date %o',
    async (date) => {
      const { audit, tokens, alerts, bulkOperations } = await openControl(store)
      const token = { kind: 'token', name: 't', role: 'viewer', hash: 'a'.repeat(64) } as const
      for (const call of [
        () => audit.list({ from: date }),
        () => audit.list({ to: date }),
        () => audit.prune({ before: date }),
        () => alerts.prune({ before: date }),
        () => bulkOperations.prune({ before: date }),
        () => tokens.create({ ...token, expiresAt: date }),
        () => store.list({ createdFrom: date }),
        () => store.list({ createdTo: date }),
      ])
        await expect(call()).rejects.toMatchObject({ code: 'INVALID_INPUT' })
      expect((await audit.list({ from: new Date(-6e13), to: new Date('9999-12-31') })).items).toEqual([])
    },
  )

  it('finds any number of ids', async () => {
    const { tokens, bulkOperations } = await openControl(store)
    const { id } = await tokens.create({ kind: 'token', name: 't', role: 'viewer', hash: 'a'.repeat(64) })
    const ids = [...Array.from({ length: 40_000 }, () => randomUUID()), id]
    expect(await tokens.getMany(ids)).toMatchObject([{ id }])
    expect((await bulkOperations.find(ids)).size).toBe(0)
    expect([...(await store.tokens.usable(ids))]).toEqual([id])
  })

  it('fails when the store is closed', async () => {
    const { settings } = await openControl(store)
    await settings.change({ set: { a: 1 } })
    await store.close()
    await expect(settings.all()).rejects.toMatchObject({ code: 'STORE_CLOSED' })
    await expect(settings.change({ set: { a: 2 } })).rejects.toMatchObject({ code: 'STORE_CLOSED' })
  })
})

describe('Control on a SQLite file that another process writes to', () => {
  it('waits without blocking the event loop, and loses nothing', async () => {
    const database = await createSqliteDatabase()
    const store = await openStore(database.url)
    const control = await openControl(store)
    const child = fork(
      new URL('./support/control-busy-child.ts', import.meta.url),
      [sqliteFile(database.url)],
      {
        execArgv: [],
      },
    )
    await once(child, 'message')
    const names = Array.from({ length: 30 }, (_, n) => `t${n}`)
    let written = 0
    const writing = names.map(async (name, n) => {
      const hash = n.toString(16).padStart(64, '0')
      const { id } = await control.tokens.create({ kind: 'token', name, role: 'viewer', hash })
      await control.settings.change({ set: { [name]: n, [`${name}b`]: n }, by: name })
      await control.tokens.rename(id, `${name} renamed`)
      written += 1
    })
    // With SQLite's busy timeout each of these event-loop turns would take seconds.
    for (let turn = 0; turn < 100; turn++) await observeFor(5, () => expect(written).toBe(0))
    expect(await control.tokens.list()).toEqual([])
    expect(written).toBe(0)
    child.send('go on')
    await Promise.all(writing)
    child.disconnect()
    await once(child, 'exit')

    const listed = (await control.tokens.list()).map(({ name }) => name)
    expect(listed.toSorted()).toEqual(names.map((name) => `${name} renamed`).toSorted())
    expect(await control.settings.all()).toHaveLength(60)
    await store.close()
    await database.drop()
  })
})
