import { newJobId } from '@oncue/core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ROUTES } from '../src/http/rest/routes.ts'
import { createServer } from '../src/http/server.ts'
import {
  accessRows,
  anotherType,
  expectError,
  expectRefused,
  fieldsOf,
  type Row,
  replaced,
  TRICKS,
  WRONG_FIELD,
  WRONG_TEXT,
} from './bad-input-cases.ts'
import { routeCallOf } from './calls.ts'
import { DIALECTS } from './harness.ts'
import { World } from './test-server.ts'

type Json = Record<string, unknown>

const ROUTE_NAMES = ROUTES.map(({ method, path }) => `${method} ${path}`)
const SESSION = ['POST /api/session', 'DELETE /api/session', 'POST /api/session/pair']
/** Routes without a procedure, which have their own tests. */
const OTHERS = /^(GET|HEAD) \/(healthz|readyz|metrics|openapi\.json|docs\b.*)$|^\w+ \/trpc\/:path$|^HEAD /

/** Invalid values of path fields, and a valid one that names nothing. */
const PARAMETERS: Readonly<
  Record<
    string,
    {
      readonly wrong: readonly string[]
      readonly refused: Row[2]
      readonly unknown?: { readonly value: () => string; readonly refused: Row[2] }
    }
  >
> = {
  ':id': {
    wrong: [newJobId().toUpperCase(), newJobId().slice(1), '00000000-0000-0000-0000-000000000000', '1'],
    refused: ['INVALID_INPUT', 'NOT_FOUND'],
    unknown: {
      value: newJobId,
      refused: ['JOB_NOT_FOUND', 'ALERT_NOT_FOUND', 'BULK_OPERATION_NOT_FOUND', 'WORKER_NOT_FOUND'],
    },
  },
  // A queue need not exist to be paused.
  ':queue': { wrong: ['two words', 'a:b', '-x', 'x'.repeat(300)], refused: ['INVALID_QUEUE', 'NOT_FOUND'] },
  ':name': {
    wrong: ['two words', 'a:b:c', '-x', 'x'.repeat(300)],
    refused: ['INVALID_TOPIC', 'INVALID_INPUT', 'UNKNOWN_SIGNAL', 'NOT_ASKED', 'NOT_FOUND'],
    unknown: { value: () => 'no_such_one', refused: ['SCHEDULE_NOT_FOUND', 'UNKNOWN_SIGNAL', 'NOT_ASKED'] },
  },
}

describe.each(DIALECTS)('bad requests to REST on %s', (dialect) => {
  let world: World
  beforeAll(async () => {
    world = await World.open(dialect)
  })
  afterAll(() => world.close())

  test('every route of the server is known here', async () => {
    const limits = { perToken: 1, perAddress: 1 }
    const app = await createServer(world.services, { appDir: '', corsOrigins: [], trustProxy: false, limits })
    await app.ready()
    const known = [...ROUTE_NAMES, ...SESSION]
    const unknown = parseRoutes(app.printRoutes({ commonPrefix: false })).filter(
      (name) => !known.includes(name) && !OTHERS.test(name),
    )
    await app.close()
    expect(unknown).toEqual([])
  })

  describe.each(ROUTES)('$method $path', ({ method, path, procedure }) => {
    async function valid() {
      const call = routeCallOf({ method, path })
      return {
        at: (await call.path?.(world)) ?? path,
        query: call.query ?? {},
        body: (await call.body?.(world)) as Json | undefined,
        access: procedure.access,
        required: call.required ?? [],
        free: call.free ?? [],
      }
    }
    /** The body of a signal is its data, which the schema of the signal refuses; likewise that of an answer. */
    const refusedBody: Row[2] = path.endsWith('/signals/:name')
      ? ['INVALID_INPUT', 'INVALID_SIGNAL']
      : path.endsWith('/answers/:name')
        ? ['INVALID_INPUT', 'INVALID_ANSWER']
        : ['INVALID_INPUT']
    const withQuery = (at: string, query: Json) =>
      `${at}?${new URLSearchParams(query as Record<string, string>)}`

    test('without access', async () => {
      const { at, query, body, access } = await valid()
      await expectRefused(
        world,
        accessRows(access, (sending) => world.send(method, withQuery(at, query), { ...sending, body })),
      )
    })

    test('with fields that are missing, extra or of another type, and tricks in every text', async () => {
      const { at, query, body, required, free } = await valid()
      const send = (given: unknown) => world.send(method, at, { body: given })
      const rows: Row[] = []
      if (method !== 'POST')
        rows.push([
          'extra',
          () => world.send(method, withQuery(at, { ...query, surprise: '1' })),
          ['INVALID_INPUT'],
        ])
      else rows.push(['extra', () => send({ ...body, surprise: 1 }), refusedBody])
      if (method === 'POST')
        for (const instead of [[1], 5, '"x"', 'true'])
          rows.push([`${instead}`, () => send(instead), refusedBody])
      for (const field of required)
        rows.push([`without ${field}`, () => send(replaced(body, [field], undefined)), WRONG_FIELD])
      for (const { path: field, value } of fieldsOf(body)) {
        const other = anotherType(value)
        rows.push([`${field} of another type`, () => send(replaced(body, field, other)), WRONG_FIELD])
        if (typeof value === 'string' && !free.includes(String(field.at(-1))))
          for (const trick of TRICKS)
            rows.push([`${field} ${trick}`, () => send(replaced(body, field, trick)), WRONG_TEXT])
      }
      await expectRefused(world, rows)
      for (const field of Object.keys(query)) {
        for (const trick of TRICKS.filter((text) => text.length < 10_000)) {
          const answer = await world.send(method, withQuery(at, { ...query, [field]: trick }))
          if (answer.status !== 200) expectError(answer, `${field} ${trick}`)
        }
      }
    })

    test('with an invalid id or name', async () => {
      for (const parameter of path.match(/:\w+/g) ?? []) {
        const { wrong, refused, unknown } = PARAMETERS[parameter] ?? {}
        if (!wrong || !refused) throw new Error(`this test knows no wrong values of ${parameter}: add them`)
        const { at, body } = await valid()
        const place = path.split('/').indexOf(parameter)
        const send = (value: string) => () =>
          world.send(method, at.split('/').with(place, encodeURIComponent(value)).join('/'), { body })
        const rows = [...TRICKS, ...wrong]
          .filter((value) => value.length < 10_000 && value !== '\ud800')
          .map((value): Row => [value, send(value), refused])
        if (unknown) rows.push(['no such', send(unknown.value()), unknown.refused])
        await expectRefused(world, rows)
      }
    })

    test('with a body that is no JSON, too deep, too large, or an attack on the prototype', async () => {
      if (method !== 'POST') return
      const { at, required } = await valid()
      const send = (body: string, headers = {}) => world.send(method, at, { body, headers })
      // Where no field is required, no body is needed.
      const nothing: Row[] = required.length > 0 ? [['nothing', () => send(''), WRONG_FIELD]] : []
      const deep = '{"payload":'.repeat(10_000) + 1 + '}'.repeat(10_000)
      await expectRefused(world, [
        ['half of it', () => send('{"topic":"x"'), ['INVALID_JSON']],
        ['no JSON', () => send('}{'), ['INVALID_JSON']],
        ...nothing,
        ['deep', () => send(deep), [...refusedBody, 'INVALID_TOPIC']],
        ['__proto__', () => send('{"__proto__":{"admin":true}}'), ['INVALID_JSON']],
        ['constructor', () => send('{"constructor":{"prototype":{"admin":true}}}'), ['INVALID_JSON']],
        ['eleven megabytes', () => send(`{"topic":"${'x'.repeat(11 * 1_048_576)}"}`), ['PAYLOAD_TOO_LARGE']],
        ['text', () => send('{}', { 'content-type': 'text/plain' }), ['UNSUPPORTED_MEDIA_TYPE']],
      ])
    })
  })

  test('a session is created with a token and nothing else', async () => {
    const post = (body: unknown, headers = {}) =>
      world.send('POST', '/api/session', { as: 'nobody', body, headers })
    await expectRefused(world, [
      ['no token', () => post({}), ['INVALID_INPUT']],
      ['another type', () => post({ token: 5 }), ['INVALID_INPUT']],
      ['extra', () => post({ token: 'x', surprise: 1 }), ['INVALID_INPUT']],
      ['a wrong token', () => post({ token: 'oncue_x' }), ['UNAUTHORIZED']],
      ['a trick', () => post({ token: TRICKS[0] }), ['UNAUTHORIZED']],
      ['no JSON', () => post('}{'), ['INVALID_JSON']],
      ['__proto__', () => post('{"__proto__":{"token":"x"}}'), ['INVALID_JSON']],
      ['from another page', () => post({ token: 'x' }, { origin: 'https://example.org' }), ['FORBIDDEN']],
    ])
    // Signing out twice is no error.
    expect((await world.send('DELETE', '/api/session', { as: 'nobody' })).status).toBe(204)
  })
})

/** `GET /api/jobs/:id` for each leaf of the tree that fastify prints. */
function parseRoutes(tree: string): string[] {
  const parents: string[] = []
  return tree.split('\n').flatMap((line) => {
    const [, indent = '', segment = '', methods = ''] = /^([│ ]*)[├└]── (\S+) \((.+)\)$/.exec(line) ?? []
    if (segment === '') return []
    const depth = indent.length / 4
    parents.length = depth
    parents.push(segment)
    return methods.split(', ').map((method) => `${method} ${parents.join('')}`)
  })
}
