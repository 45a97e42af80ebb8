import { newJobId } from '@oncue/core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ROUTES } from '../src/http/rest/routes.ts'
import { routeCallOf } from './calls.ts'
import { type Answer, type Sending, World } from './test-server.ts'

/** `World.send` compares every response with the document; these tests make each route return many of them. */
describe('responses of REST match the OpenAPI document', () => {
  let world: World
  beforeAll(async () => {
    world = await World.open('sqlite')
  })
  afterAll(() => world.close())

  const TEXT = { 'content-type': 'text/plain' }
  const BODIES: readonly Sending[] = [
    { body: '{' },
    { body: '' },
    { body: '{"surprise":1}' },
    { body: '{}', headers: TEXT },
    { body: `"${'x'.repeat(10 * 1_048_576)}"` },
  ]

  describe.each(ROUTES)('$method $path', ({ method, path }) => {
    test('for every caller and any input', async () => {
      const call = routeCallOf({ method, path })
      const at = (await call.path?.(world)) ?? path
      const body = await call.body?.(world)
      const seen = new Set<number>()
      const send = async (to: string, sending: Sending) =>
        seen.add((await world.send(method, to, sending)).status)
      for (const as of ['nobody', 'wrong', 'expired', 'producer', 'viewer'] as const)
        await send(at, { as, body })
      await send(`${at}?surprise=1`, { body })
      await send(path.replace(':id', newJobId()), { body })
      await send(path.replace(':id', 'none'), { body })
      if (method !== 'GET') for (const sending of BODIES) await send(at, sending)
      await send(at, { body })
      await send(at, { body })
      expect([...seen]).toContain(401)
      if (method !== 'GET') expect([...seen]).toEqual(expect.arrayContaining([413, 415]))
      expect(world.faults).toEqual([])
    })
  })

  const codeOf = ({ status, error }: Answer) => [status, error?.code]

  test('for a batch that refers to a missing job', async () => {
    const jobs = [{ topic: 'mail', payload: { userId: '1' }, after: [newJobId()] }]
    const answer = await world.send('POST', '/api/jobs/enqueue/batch', { body: { jobs, atomic: true } })
    expect(codeOf(answer)).toEqual([404, 'UNKNOWN_PARENT'])
  })

  test('for a batch with invalid jobs', async () => {
    const jobs = [{ topic: 'mail', payload: { userId: '1' } }, { topic: 'no topic' }]
    const answer = await world.send('POST', '/api/jobs/enqueue/batch', { body: { jobs } })
    expect(answer.status).toBe(207)
  })

  test('for signing in and out', async () => {
    const send = (method: string, path: string, sending: Sending) =>
      world.send(method, `/api/session${path}`, { as: 'nobody', ...sending })
    expect(codeOf(await send('DELETE', '', { as: 'admin' }))).toEqual([401, 'UNAUTHORIZED'])
    expect((await send('DELETE', '', {})).status).toBe(204)
    for (const path of ['', '/pair']) for (const sending of BODIES) await send('POST', path, sending)
    for (const sending of BODIES) await send('DELETE', '', sending)
    expect(codeOf(await send('POST', '', { body: { token: 'oncue_wrong' } }))).toEqual([401, 'UNAUTHORIZED'])
    expect((await send('POST', '', { body: { token: await world.secret('viewer') } })).status).toBe(201)
    const wrong = await send('POST', '/pair', { body: { code: 'ABC-DEF-GHJ', name: 'x' } })
    expect(codeOf(wrong)).toEqual([403, 'PAIRING_REFUSED'])
    const right = await send('POST', '/pair', { body: { code: await world.pairingCode(), name: 'x' } })
    expect(right.status).toBe(201)
    const origin = { origin: 'https://evil.example' }
    expect((await send('POST', '', { body: { token: 'x' }, headers: origin })).status).toBe(403)
    expect(world.faults).toEqual([])
  })
})
