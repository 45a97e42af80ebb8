import { createServer, type Socket } from 'node:net'
import { simulate } from '@oncue/runtime'
import { Gate, until } from '@oncue/testing'
import { describe, expect, it, onTestFinished } from 'vitest'
import { DatabaseChecks } from '../src/health/database.ts'
import { DIALECTS, errorOf, startTestApi } from './harness.ts'

describe.each(DIALECTS)('checks of the database on %s', (dialect) => {
  it('are those of oncue doctor, for operators, and many callers share one look', async () => {
    const api = await startTestApi(dialect)
    const operator = api.client(await api.tokenFor('operator'))
    const [first, second] = await Promise.all([
      operator.database.get.query(),
      api.client().database.get.query(),
    ])
    expect(first).toMatchObject({ dialect, checkedAt: expect.any(Date) })
    expect(second.checkedAt).toEqual(first.checkedAt)
    const checks = first.findings.map(({ check }) => check)
    expect(checks).toEqual(
      expect.arrayContaining(['database', 'migrations', 'version', 'clock', 'claim plan']),
    )
    expect(checks).toContain(dialect === 'postgres' ? 'dead rows' : 'journal')
    expect(JSON.stringify(first)).not.toMatch(/password|:[^/@]+@/)
    const viewer = api.client(await api.tokenFor('viewer'))
    expect(await errorOf(viewer.database.get.query())).toMatchObject({ code: 'FORBIDDEN' })
    const overRest = await (await api.fetch('/api/database')).json()
    expect(overRest).toMatchObject({ dialect, checked_at: first.checkedAt.toISOString() })
  })
})

async function startSilent() {
  const sockets: Socket[] = []
  const server = createServer((socket) => void sockets.push(socket.on('error', () => {})))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as { port: number }
  onTestFinished(() => void server.close())
  return { sockets, url: `postgres://oncue@127.0.0.1:${port}/oncue` }
}

it('gives up after 10 s, and does not ask a database that does not answer a second time', async () => {
  const { sockets, url } = await startSilent()
  const runtime = simulate()
  const checks = new DatabaseChecks({ url, schema: undefined, store: { dialect: 'postgres' }, runtime })
  const refused = expect(checks.look()).rejects.toMatchObject({ code: 'DATABASE_BUSY' })
  await until(() => sockets.length > 0)
  await runtime.advance(10_000)
  await refused
  const asked = sockets.length
  const again = checks.look()
  expect(sockets).toHaveLength(asked)
  for (const socket of sockets) socket.destroy()
  // The first look has failed by now, which is a finding.
  expect((await again).findings).toMatchObject([{ check: 'database', status: 'fail' }])
})

it('keeps a look that ends while none waits for it', async () => {
  const { sockets, url } = await startSilent()
  const runtime = simulate()
  const ended = new Gate()
  const store = {
    // Read when a look ends.
    get dialect() {
      ended.open()
      return 'postgres' as const
    },
  }
  const checks = new DatabaseChecks({ url, schema: undefined, store, runtime })
  const refused = expect(checks.look()).rejects.toMatchObject({ code: 'DATABASE_BUSY' })
  await until(() => sockets.length > 0)
  await runtime.advance(10_000)
  await refused
  const asked = sockets.length
  const endedAt = new Date(runtime.now())
  for (const socket of sockets) socket.destroy()
  await ended.opened
  await runtime.advance(14_999)
  const { checkedAt, findings } = await checks.look()
  expect(checkedAt).toEqual(endedAt)
  expect(findings).toMatchObject([{ check: 'database', status: 'fail' }])
  expect(sockets).toHaveLength(asked)
})
