import { ERRORS, type ErrorCode } from '@oncue/core'
import { describeContents } from '@oncue/db/testing'
import { expect } from 'vitest'
import type { Answer, Sending, World } from './test-server.ts'

/** An invalid call, and the error codes that it may get. */
export type Row = readonly [what: string, send: () => Promise<Answer>, codes: readonly ErrorCode[]]

export const WRONG_FIELD = [
  'INVALID_INPUT',
  'INVALID_TOPIC',
  'INVALID_QUEUE',
  'INVALID_PRIORITY',
  'INVALID_DATE',
  'INVALID_SIGNAL',
  'INVALID_ANSWER',
] as const
export const WRONG_TEXT = [
  ...WRONG_FIELD,
  ...(['INVALID_TEXT', 'INVALID_CRON', 'INVALID_CURSOR', 'JOB_NOT_FOUND', 'INVALID_PAYLOAD'] as const),
  // A pairing code that does not exist.
  'PAIRING_REFUSED' as const,
]

/** Texts that an attacker might try. */
export const TRICKS = [
  `'; drop table oncue.jobs; --`,
  `' or '1'='1`,
  '%27%20union%20select%20*%20from%20tokens',
  '../../../../etc/passwd',
  '..%2f..%2fetc%2fpasswd',
  'file:///etc/passwd',
  '{{7*7}}#{7*7}<script>alert(1)</script>',
  '\u0000',
  '\ud800',
  '\u202eabc',
  'x'.repeat(20_000),
]

/** Texts that no database can store: refused even where any text is allowed. */
export const UNSTORABLE = ['a\u0000b', 'a\ud800b']

/** A value of another type than this one. */
export function anotherType(value: unknown): unknown {
  if (value instanceof Date) return 'tomorrow'
  if (typeof value === 'number') return 'five'
  if (typeof value === 'boolean') return 'maybe'
  return typeof value === 'string' ? { wrong: 'type' } : 5
}

export type Field = { readonly path: readonly string[]; readonly value: unknown }

/** The paths of all fields of an input at any depth, except within payloads. */
export function fieldsOf(input: unknown, path: readonly string[] = []): Field[] {
  if (typeof input !== 'object' || input === null || input instanceof Date) return []
  return Object.entries(input).flatMap(([key, value]) => {
    if (key === 'payload' || key === 'input') return []
    const at = [...path, key]
    return [{ path: at, value }, ...fieldsOf(value, at)]
  })
}

/** The input with one field replaced; `undefined` removes it. */
export function replaced<T>(input: T, [key = '', ...rest]: readonly string[], value: unknown): T {
  const copy = (Array.isArray(input) ? [...input] : { ...input }) as Record<string, unknown>
  if (rest.length > 0) copy[key] = replaced(copy[key], rest, value)
  else if (value === undefined) delete copy[key]
  else copy[key] = value
  return copy as T
}

/** Without what every request may write: when a token was last used, and refused codes and tokens. */
const contentsOf = async (world: World) =>
  (await describeContents(world.databaseUrl))
    .filter((line) => !/"(session|pairings)\.refused"/.test(line))
    .map((line) => line.replace(/"last_used":("[^"]*"|\w+)/, ''))

/** Each is refused with its code in the common shape, nothing is written, and the server keeps working. */
export async function expectRefused(world: World, rows: readonly Row[]): Promise<void> {
  const before = await contentsOf(world)
  for (const [what, send, codes] of rows) {
    const answer = await send()
    expectError(answer, what)
    expect(codes, `${what}: ${answer.text}`).toContain(answer.error?.code)
  }
  expect(await contentsOf(world)).toEqual(before)
  expect((await world.send('GET', '/trpc/tokens.me')).status).toBe(200)
  expect(world.faults.splice(0)).toEqual([])
}

export function expectError({ status, headers, error, text }: Answer, what: string): void {
  expect(error, `${what}: ${status} ${text.slice(0, 500)}`).toEqual({
    code: expect.any(String),
    message: expect.stringMatching(/\S/),
    hint: expect.stringMatching(/\S/),
    ...(error?.details && { details: expect.any(Object) }),
  })
  if (!error) return
  const { http } = ERRORS[error.code as ErrorCode]
  // A stream is refused after its response has begun.
  if (!headers.get('content-type')?.startsWith('text/event-stream')) expect(status, what).toBe(http)
  expect(http, what).toBeLessThan(500)
  // Invalid HTTP never became a request, so it has no id.
  if (!error.message.startsWith('The request is not valid HTTP'))
    expect(headers.get('x-request-id'), what).toMatch(/\S/)
  // No internals: no stack, no file, no statement.
  expect(text, what).not.toMatch(/node_modules|\.ts:\d|\bat \w+ \(|insert into|select \*/)
}

/** All callers without this access. */
export function accessRows(access: string, send: (sending: Sending) => Promise<Answer>): Row[] {
  const badTokens = (['wrong', 'expired', 'revoked'] as const).map(
    (as): Row => [`a token that is ${as}`, () => send({ as }), ['UNAUTHORIZED']],
  )
  const malformed = ['Bearer', 'Basic YTpi', 'Bearer a b', `Bearer ${'x'.repeat(5_000)}`].map(
    (authorization): Row => [
      authorization.slice(0, 20),
      () => send({ headers: { authorization } }),
      ['UNAUTHORIZED'],
    ],
  )
  const cookie: Row = [
    'a bad cookie',
    () => send({ as: 'nobody', headers: { cookie: 'oncue_session=x' } }),
    ['UNAUTHORIZED'],
  ]
  const rows = [...badTokens, ...malformed, cookie]
  if (access === 'anyone') return rows
  const noToken: Row = ['no token', () => send({ as: 'nobody' }), ['UNAUTHORIZED']]
  // Every role may call it; which jobs it may see has its own test.
  if (access === 'own') return [...rows, noToken]
  const lesser = access === 'enqueue' ? 'viewer' : 'producer'
  return [...rows, noToken, ['the wrong role', () => send({ as: lesser }), ['FORBIDDEN']]]
}
