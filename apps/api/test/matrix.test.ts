import type { AccessRule } from '@oncue/core/wire'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { LiveSettings } from '../src/auth/settings.ts'
import { ROUTES } from '../src/http/rest/routes.ts'
import { WRONG_FIELD } from './bad-input-cases.ts'
import { callOf, PROCEDURE_CALLS, ROUTE_CALLS, routeCallOf } from './calls.ts'
import { DIALECTS } from './harness.ts'
import { IdentityProvider } from './identity-provider.ts'
import { type Answer, OPEN, PEOPLE, type Person, PROCEDURES, World } from './test-server.ts'

/** Who may do what under the default rules. Written out here, so that it cannot follow a mistake in the code. */
const MAY: Record<string, readonly Person[]> = {
  enqueue: ['producer', 'operator', 'admin'],
  read: ['viewer', 'operator', 'admin'],
  // A job whose id they know.
  own: ['producer', 'viewer', 'operator', 'admin'],
  act: ['operator', 'admin'],
  // Unless the setting operatorsEditPayloads says that operators may.
  edit: ['admin'],
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
  const audited = async () => (await world.control.audit.list({}, { limit: 1 })).items[0]

  async function expectOutcome(answer: Answer, person: Person, access: string, status: number) {
    if (MAY[access]?.includes(person)) {
      expect(answer.error, answer.text).toBeUndefined()
      expect(answer.status).toBe(status)
      return true
    }
    const expected = person === 'nobody' ? [401, 'UNAUTHORIZED'] : [403, 'FORBIDDEN']
    // A stream is refused after its response has begun.
    const isStream = answer.headers.get('content-type')?.startsWith('text/event-stream')
    expect([isStream ? expected[0] : answer.status, answer.error?.code]).toEqual(expected)
    return false
  }

  describe.each(PROCEDURES)('$name', ({ name, type, access: declared }) => {
    test.each(EVERYBODY)(`by %s`, async (person) => {
      const { access = declared, input } = callOf(name)
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

  describe.each(ROUTES)('$method $path', ({ method, path, procedure }) => {
    test.each(EVERYBODY)(`by %s`, async (person) => {
      const call = routeCallOf({ method, path })
      const before = await audited()
      const query = call.query ? `?${new URLSearchParams(call.query)}` : ''
      const at = (await call.path?.(world)) ?? path
      const answer = await world.send(method, at + query, { as: person, body: await call.body?.(world) })
      const isDone = await expectOutcome(answer, person, procedure.access, call.status)
      const after = await audited()
      const isChange = procedure.kind === 'mutation'
      expect(after?.id === before?.id).toBe(!isDone || !isChange)
      if (isDone && isChange) expect(after).toMatchObject({ action: procedure.path })
    })
  })

  test('none of these calls caused a server error', () => {
    expect(world.faults).toEqual([])
  })
})

/** The callers that each rule admits. Written out here, like `MAY`. */
const LETS_IN: Record<AccessRule, readonly Person[]> = {
  '': ['admin'],
  true: [...EVERYBODY, 'guest'],
  "@request.auth.id != ''": [...PEOPLE, 'guest'],
  producer: ['producer', 'operator', 'admin'],
  viewer: ['viewer', 'operator', 'admin'],
  operator: ['operator', 'admin'],
  admin: ['admin'],
}

const WITHOUT_A_ROLE = ['nobody', 'guest'] as const

/** The most that each may do, whatever the rules. Without a role: what a rule opens, but not administer. */
const AT_MOST: Record<string, readonly Person[]> = {
  ...MAY,
  enqueue: [...WITHOUT_A_ROLE, ...(MAY.enqueue ?? [])],
  read: [...WITHOUT_A_ROLE, ...(MAY.read ?? [])],
  act: [...WITHOUT_A_ROLE, ...(MAY.act ?? [])],
}

/** A job with a known id can be read by callers who may read all jobs, and by those with a token who may enqueue. */
const CLASSES: Record<string, readonly string[]> = {
  ...{ enqueue: ['enqueue'], read: ['read'], own: ['enqueue', 'read'], act: ['act'], admin: ['admin'] },
  edit: ['edit'],
}

const RULES = Object.keys(LETS_IN) as AccessRule[]
/** Each rule with a different one, so that a mix-up of the two is noticed. */
const PAIRS = RULES.map((rule, n) => [rule, RULES[(n + 3) % RULES.length] ?? ''] as const)

describe.each(DIALECTS)('every role by every rule, on %s', { timeout: 240_000 }, (dialect) => {
  let world: World
  let provider: IdentityProvider
  beforeAll(async () => {
    provider = await IdentityProvider.start()
    world = await World.open(dialect, provider)
  })
  afterAll(async () => {
    await world.close()
    await provider.close()
  })
  const CALLERS = [...EVERYBODY, 'guest'] as const

  const set = (values: Parameters<LiveSettings['change']>[0]['set']) =>
    world.services.settings.change({ set: values, reset: [], by: 'test' })

  /** An invalid input: admitted callers get INVALID_INPUT, and nothing happens. */
  const WRONG = { surprise: 1 }
  const send = (method: string, path: string, as: Person) =>
    method === 'POST'
      ? world.send(method, path, { as, body: WRONG })
      : world.send(method, `${path}?surprise=1`, { as })
  const LET_IN = 'let in, and told what was wrong'
  async function outcomeOf(call: (as: Person) => Promise<Answer>, person: Person) {
    const code = (await call(person)).error?.code
    return WRONG_FIELD.some((wrong) => wrong === code) ? LET_IN : code
  }
  const CALLS = [
    ...PROCEDURES.filter(({ name }) => !OPEN.includes(name)).map(({ name, access }) => ({
      name,
      access,
      call: (as: Person) => world.call(name, WRONG, { as }),
    })),
    ...ROUTES.map(({ method, path, procedure }) => ({
      name: `${method} ${path}`,
      access: procedure.access,
      call: (as: Person) => send(method, path, as),
    })),
  ]

  test.each(PAIRS)('enqueueRule %j, manageRule %j', async (enqueueRule, manageRule) => {
    await set({ enqueueRule, manageRule })
    for (const { name, access, call } of CALLS) {
      for (const person of CALLERS) {
        const classes = access === 'own' && person === 'nobody' ? ['read'] : CLASSES[access]
        const may = classes?.some((each) => {
          const rule = each === 'enqueue' ? enqueueRule : manageRule
          return AT_MOST[each]?.includes(person) && (each === 'admin' || LETS_IN[rule].includes(person))
        })
        const refusal = person === 'nobody' ? 'UNAUTHORIZED' : 'FORBIDDEN'
        expect([name, person, await outcomeOf(call, person)]).toEqual([name, person, may ? LET_IN : refusal])
      }
    }
    expect(world.faults).toEqual([])
  })

  test('and while the API is switched off', async () => {
    await set({ httpEnabled: false, enqueueRule: 'true', manageRule: 'true' })
    for (const { name, call } of CALLS) {
      for (const person of CALLERS) {
        const expected = person === 'admin' ? LET_IN : 'HTTP_DISABLED'
        expect([name, person, await outcomeOf(call, person)]).toEqual([name, person, expected])
      }
    }
  })
})
