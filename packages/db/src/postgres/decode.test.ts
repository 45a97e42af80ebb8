import { expect, test } from 'vitest'
import { decodeWork } from './decode.ts'

const A = '01900000-0000-7000-8000-00000000000a'
const B = '01900000-0000-7000-8000-00000000000b'
const DUE = '2026-11-16 02:03:04.567+00'

/** A row of kind 'j', with the fields of each job in the order of the table of columns. */
const claimed = (...jobs: string[][]) => [
  'j',
  null,
  null,
  null,
  null,
  jobs.map((fields) => fields.join('\x1f')).join('\x1e'),
]
const fields = (id: string, rest: string[] = ['', '{"n":1}']) => [
  ...[id, '2', 'mail', 'mail_digest', '5', '', DUE, '2026-11-16 03:03:04.5+01', '1', '3', '0', '60000'],
  ...rest,
]

test('a claimed job has every field, and its times are its own', () => {
  const [job] = decodeWork([claimed(fields(A))]).jobs
  const due = new Date('2026-11-16T02:03:04.567Z')
  const created = new Date('2026-11-16T02:03:04.500Z')
  expect(job).toMatchObject({
    ...{ id: A, run: 2, queue: 'mail', topic: 'mail_digest', payload: { n: 1 }, priority: 5 },
    ...{ runAt: due, visibleAt: due, created, retries: 1, maxRetries: 3, crashes: 0, timeoutMs: 60_000 },
    ...{ meta: null, uniqueKey: null },
  })
  expect(job?.runAt).not.toBe(job?.visibleAt)
})

test('what few jobs have comes as JSON', () => {
  const [job] = decodeWork([claimed(fields(A, ['{"meta":{"tenant":"a"}}', 'null']))]).jobs
  expect(job).toMatchObject({ meta: { tenant: 'a' }, payload: null })
})

test('a payload that is stored apart comes in the row before', () => {
  const rows = [['p', A, null, null, null, null, 'much'], claimed(fields(A, ['']), fields(B))]
  expect(decodeWork(rows).jobs.map(({ payload }) => payload)).toEqual(['much', { n: 1 }])
})

test('separators in a payload are escaped, as JSON escapes them', () => {
  const payload = '\x1e\x1f'
  const [job] = decodeWork([claimed(fields(A, ['', JSON.stringify(payload)]))]).jobs
  expect(job?.payload).toBe(payload)
})
