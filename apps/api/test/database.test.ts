import { createServer, type Socket } from 'node:net'
import { simulate } from '@oncue/runtime'
import { until } from '@oncue/testing'
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

it('gives up after 10 s, and does not ask a database that does not answer a second time', async () => {
  const sockets: Socket[] = []
  const server = createServer((socket) => void sockets.push(socket.on('error', () => {})))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as { port: number }
  const runtime = simulate()
  const checks = new DatabaseChecks({
    ...{
      url: `postgres://oncue@127.0.0.1:${port}/oncue`,
      schema: undefined,
      store: { dialect: 'postgres' },
      runtime,
    },
  })
  const refused = expect(checks.look()).rejects.toMatchObject({ code: 'DATABASE_BUSY' })
  await until(() => sockets.length > 0)
  await runtime.advance(10_000)
  await refused
  const asked = sockets.length
  const again = checks.look()
  expect(sockets).toHaveLength(asked)
  for (const socket of sockets) socket.destroy()
  onTestFinished(() => void server.close())
  // The first look has failed by now, which is a finding.
  expect((await again).findings).toMatchObject([{ check: 'database', status: 'fail' }])
})
