import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ROUTES } from '../src/rest/routes.ts'
import { PROCEDURE_CALLS, ROUTE_CALLS } from './calls.ts'
import { DIALECTS } from './harness.ts'
import { type Answer, PEOPLE, type Person, PROCEDURES, World } from './world.ts'

/** Who may do what while nobody has changed a rule. Written out here, so that it cannot follow a mistake in the code. */
const MAY: Record<string, readonly Person[]> = {
  enqueue: ['producer', 'operator', 'admin'],
  read: ['viewer', 'operator', 'admin'],
  // By its id.
  own: ['producer', 'viewer', 'operator', 'admin'],
  act: ['operator', 'admin'],
  admin: ['admin'],
  anyone: ['nobody', 'producer', 'viewer', 'operator', 'admin'],
}

const EVERYBODY = ['nobody', ...PEOPLE] as const

test('every procedure and every route has a row', () => {
  expect(Object.keys(PROCEDURE_CALLS).sort()).toEqual(PROCEDURES.map(({ name }) => name).sort())
  expect(Object.keys(ROUTE_CALLS).sort()).toEqual(
    ROUTES.map(({ method, path }) => `${method} ${path}`).sort(),
  )
})

describe.each(DIALECTS)('who may do what on %s', (dialect) => {
  let world: World
  beforeAll(async () => {
    world = await World.open(dialect)
  })
  afterAll(() => world.close())

  /** The newest first. */
  const audited = async () => (await world.store.audit.list({}, { limit: 1 })).items[0]

  async function expectOutcome(answer: Answer, person: Person, access: string, status: number) {
    if (MAY[access]?.includes(person)) {
      expect(answer.error, answer.text).toBeUndefined()
      expect(answer.status).toBe(status)
      return true
    }
    const expected = person === 'nobody' ? [401, 'UNAUTHORIZED'] : [403, 'FORBIDDEN']
    // A stream has begun when it is refused.
    const isStream = answer.headers.get('content-type')?.startsWith('text/event-stream')
    expect([isStream ? expected[0] : answer.status, answer.error?.code]).toEqual(expected)
    return false
  }

  describe.each(PROCEDURES)('$name', ({ name, type }) => {
    const { access, input } = PROCEDURE_CALLS[name] ?? { access: 'anyone', input: () => undefined }

    test.each(EVERYBODY)(`by %s`, async (person) => {
      const before = await audited()
      const answer = await world.call(name, await input(world), { as: person })
      const isDone = await expectOutcome(answer, person, access, 200)
      const after = await audited()
      if (isDone && type === 'mutation') {
        expect(after?.id).not.toBe(before?.id)
        const kind = person === 'nobody' ? 'anonymous' : 'token'
        expect(after).toMatchObject({ action: name, actor: { kind }, ip: expect.any(String) })
        expect(after?.requestId).toBe(answer.headers.get('x-request-id'))
      } else expect(after?.id).toBe(before?.id)
    })
  })

  describe.each(ROUTES)('$method $path', ({ method, path, operation }) => {
    const call = ROUTE_CALLS[`${method} ${path}`]

    test.each(EVERYBODY)(`by %s`, async (person) => {
      if (!call) return expect.unreachable()
      const before = await audited()
      const query = call.query ? `?${new URLSearchParams(call.query)}` : ''
      const at = (await call.path?.(world)) ?? path
      const answer = await world.send(method, at + query, { as: person, body: await call.body?.(world) })
      const isDone = await expectOutcome(answer, person, call.access, call.status)
      const after = await audited()
      expect(after?.id === before?.id).toBe(!isDone || method === 'GET')
      if (isDone && method !== 'GET') expect(after).toMatchObject({ action: operation.name })
    })
  })

  test('and nothing of it was a fault of the server', () => {
    expect(world.faults).toEqual([])
  })
})
