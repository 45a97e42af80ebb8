import type { ErrorCode } from '@oncue/core'
import { enqueueOptionsSchema } from '@oncue/core/wire'
import superjson from 'superjson'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  accessRows,
  anotherType,
  expectError,
  expectRefused,
  type Field,
  fieldsOf,
  type Row,
  replaced,
  TRICKS,
  UNSTORABLE,
  WRONG_FIELD,
  WRONG_TEXT,
} from './bad-input-cases.ts'
import { callOf } from './calls.ts'
import { DIALECTS } from './harness.ts'
import { PROCEDURES, type Sending, World } from './test-server.ts'

type Json = Record<string, unknown>

test('the calls of jobs.enqueue have every option', () => {
  const { input, also } = callOf('jobs.enqueue')
  const given = [input({} as World), ...(also?.({} as World) ?? [])].flatMap((call) =>
    Object.keys(call as Json),
  )
  const left = Object.keys(enqueueOptionsSchema.shape).filter((name) => !given.includes(name))
  // Its values may be of any type.
  expect(left).toEqual(['meta'])
})

describe.each(DIALECTS)('bad input of procedures on %s', (dialect) => {
  let world: World
  beforeAll(async () => {
    world = await World.open(dialect)
  })
  afterAll(() => world.close())

  describe.each(PROCEDURES)('$name', ({ name, type, access: declared }) => {
    const isChange = type === 'mutation'

    test('without access', async () => {
      const { access = declared, input: toInput } = callOf(name)
      const input = await toInput(world)
      await expectRefused(
        world,
        accessRows(access, (sending) => world.call(name, input, sending)),
      )
    })

    const inputs = async () => [await callOf(name).input(world), ...(callOf(name).also?.(world) ?? [])]

    /** For each field, a call with each wrong value. */
    async function rowsOf(
      wrongValues: (field: Field) => readonly unknown[],
      codes: readonly ErrorCode[],
    ): Promise<Row[]> {
      return (await inputs()).flatMap((input) =>
        fieldsOf(input).flatMap((field) =>
          wrongValues(field).map((value): Row => {
            const what = `${field.path.join('.')} = ${String(value).slice(0, 50)}`
            return [what, () => world.call(name, replaced(input, field.path, value)), codes]
          }),
        ),
      )
    }

    test('with fields that are missing, extra or of another type', async () => {
      const { required = [] } = callOf(name)
      const [input, ...others] = await inputs()
      const without = (field: string) => world.call(name, replaced(input, [field], undefined))
      await expectRefused(world, [
        ['a list instead', () => world.call(name, [1]), ['INVALID_INPUT']],
        ['a text instead', () => world.call(name, 'x'), ['INVALID_INPUT']],
        ['a number instead', () => world.call(name, 5), ['INVALID_INPUT']],
        ...[input, ...others].map(
          (given): Row => [
            'extra',
            () => world.call(name, { ...(given as Json), surprise: 1 }),
            ['INVALID_INPUT'],
          ],
        ),
        ...required.map((field): Row => [`without ${field}`, () => without(field), WRONG_FIELD]),
        ...(await rowsOf(({ value }) => [anotherType(value)], WRONG_FIELD)),
      ])
    })

    test('with numbers out of range', async () => {
      await expectRefused(
        world,
        await rowsOf(({ path, value }) => {
          if (typeof value !== 'number') return []
          const field = path.at(-1) ?? ''
          if (field === 'limit') return [0, -1, 1e9, 1.5]
          if (field === 'threshold' || field === 'stopWhenFailing') return [-1e9, 1e15]
          // A caller may start at the very end.
          return /^(offset|afterVersion)$/.test(field) ? [-1, 0.5] : [-1e9, 1e15, 0.5]
        }, WRONG_FIELD),
      )
    })

    test('with tricks in every text', async () => {
      const { free = [] } = callOf(name)
      const isFree = ({ path }: Field) => free.some((end) => path.join('.').endsWith(end))
      const tricks = await rowsOf(
        (field) => {
          if (typeof field.value !== 'string') return []
          return isChange && isFree(field) ? UNSTORABLE : TRICKS
        },
        [...WRONG_TEXT, 'SCHEDULE_NOT_FOUND'],
      )
      if (isChange) return expectRefused(world, tricks)
      // Searching for a strange text is valid, so it may succeed.
      for (const [what, send] of tricks) {
        const answer = await send()
        if (answer.status !== 200 || answer.error) expectError(answer, what)
      }
    })

    test('with dates as no Date is sent', async () => {
      const rows = (await inputs()).flatMap((input) =>
        fieldsOf(input)
          .filter(({ value }) => value instanceof Date)
          .flatMap(({ path }) =>
            // The first is how JSON writes an invalid Date.
            [null, 0, '', '31.12.2026 10:00', '10 feb', '2026-02-31T00:00:00.000Z'].map((wrong): Row => {
              const { json, meta } = superjson.serialize(input)
              const text = JSON.stringify({ json: replaced(json, path, wrong), meta })
              const what = `${path.join('.')} = ${wrong}`
              return [what, () => world.callRaw(name, type, text), ['INVALID_DATE']]
            }),
          ),
      )
      await expectRefused(world, rows)
    })

    test('that is no JSON, too deep, too large, or an attack on the prototype', async () => {
      const call = callOf(name)
      const raw = (text: string, sending?: Sending) => world.callRaw(name, type, text, sending)
      const valid = superjson.serialize(await call.input(world))
      const text = JSON.stringify(valid)
      const deep = '['.repeat(isChange ? 10_000 : 3_000) + ']'.repeat(isChange ? 10_000 : 3_000)
      const rows: Row[] = [
        ['half of it', () => raw(text.slice(0, -1)), ['INVALID_JSON']],
        ['no JSON', () => raw('}{'), ['INVALID_JSON']],
        ['not wrapped', () => raw('{"topic":"x"}'), ['INVALID_INPUT']],
        ['deep', () => raw(`{"json":${deep}}`), ['INVALID_INPUT']],
        [
          'deep, with meta',
          () => raw(`{"json":${deep},"meta":{"values":{"a":["Date"]}}}`),
          ['INVALID_INPUT'],
        ],
        [
          'strange meta',
          () => raw('{"json":{"a":1},"meta":{"values":{"__proto__.a":["Date"]}}}'),
          ['INVALID_INPUT'],
        ],
        [
          'meta of no shape',
          () => raw('{"json":{"a":1},"meta":{"values":5,"referentialEqualities":{"a":[7]}}}'),
          WRONG_FIELD,
        ],
        [
          '__proto__',
          () =>
            raw(
              text.replace(
                /^{"json":({?)/,
                (_, open) => `{"json":{"__proto__":{"admin":true}${open ? ',' : '}'}`,
              ),
            ),
          ['INVALID_INPUT', 'INVALID_JSON'],
        ],
      ]
      if (isChange) {
        if (!call.needsNothing) rows.push(['nothing', () => raw(''), WRONG_FIELD])
        rows.push(
          ['eleven megabytes', () => raw(`{"json":"${'x'.repeat(11 * 1_048_576)}"}`), ['PAYLOAD_TOO_LARGE']],
          [
            'another type of content',
            () => raw(text, { headers: { 'content-type': 'text/plain' } }),
            ['UNSUPPORTED_MEDIA_TYPE'],
          ],
          [
            'by GET',
            () => world.send('GET', `/trpc/${name}?input=${encodeURIComponent(text)}`),
            ['METHOD_NOT_ALLOWED'],
          ],
        )
      }
      await expectRefused(world, rows)
    })
  })
})
