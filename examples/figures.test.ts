import { describe, expect, test } from 'vitest'
import { DOCUMENTS, proseOf, readDocument } from './markdown.ts'

/**
 * Figures of `pnpm bench` are in bench/README.md. How fast Oncue is beside another queue is said only in the sections
 * that `pnpm bench peers --write-docs` writes. Where a page compares Oncue with hand-written SQL, it quotes the
 * percentage of the table of `bench worker`, so that a new run changes both.
 */
const BENCH = 'bench/README.md'

const QUEUES = /graphile-worker|pg-boss|BullMQ|plainjob|\bRiver\b|\bOban\b/i
const BARE = /\bbare (loop|route)|hand-written (SQL )?loop|hand-written SQL/i
const COUNT = String.raw`(?:\d[\d.,]*|two|three|four|five|six|seven|eight|nine|ten)`
const RATIO = new RegExp(String.raw`\d[\d.,]* ?(?:%|×)|\b${COUNT} times\b|\btwice\b|\b\d+x\b`, 'gi')
const FASTER = /\b(?:fast|slow|quick)(?:er)?\b|\bas fast as\b|\boutperforms?\b/i
const RATE = /\d[\d,. ]*k? ?(?:jobs|requests|enqueues|claims)(?:\/s\b| (?:per|a) second)|\d[\d.]* ?µs of CPU/i

/** Rows of tables, and sentences. */
function statementsOf(prose: string): string[] {
  return prose.split(/\n(?=[|#-])|\n\n/).flatMap((part) => {
    const line = part.replaceAll(/\s+/g, ' ')
    return line.startsWith('|') ? [line] : line.split(/(?<=[.;!?]) /)
  })
}

const ratiosIn = (text: string) => [...text.matchAll(RATIO)].map(([ratio]) => ratio.replace(' ', ''))

const withoutSections = (prose: string) =>
  prose.replaceAll(/<!-- bench:(\w+) \w+ -->[\s\S]*?<!-- \/bench:\1 -->/g, '')

/** The statements that compare Oncue with another queue, outside of the sections that are written from a run. */
function strayComparisons(prose: string): string[] {
  return statementsOf(withoutSections(prose)).filter(
    (statement) => QUEUES.test(statement) && (FASTER.test(statement) || ratiosIn(statement).length > 0),
  )
}

/** The statements with a figure of a benchmark that the last run does not have. */
function strayFigures(prose: string, bench: string): string[] {
  const shown = bench
    .split('\n')
    .filter((line) => /^\| bare +\|/.test(line))
    // The first percentage of a row is the result; after it come the spread and the goal.
    .map((line) => ratiosIn(line)[0])
  return statementsOf(withoutSections(prose)).filter((statement) => {
    if (RATE.test(statement)) return true
    return BARE.test(statement) && ratiosIn(statement).some((ratio) => !shown.includes(ratio))
  })
}

test.each(DOCUMENTS)('%s compares Oncue with another queue only by the recorded run', (page) => {
  expect(strayComparisons(proseOf(page))).toEqual([])
})

test.each(DOCUMENTS.filter((path) => path !== BENCH))(
  '%s has no figure that the last run does not have',
  (page) => {
    expect(strayFigures(proseOf(page), readDocument(BENCH))).toEqual([])
  },
)

describe('a figure', () => {
  const bench = '| bare            | 62 133 |  74 % | ≥ 70 % |\n'

  test.each([
    '| Speed | 74 % of a hand-written SQL loop |',
    'It polls twice a second. Coming from pg-boss, read this.',
  ])('is allowed: %s', (text) => expect(strayFigures(text, bench)).toEqual([]))

  test.each([
    'It does 70 % of a hand-written SQL loop.',
    'Three times the time of a bare route.',
    'A worker drains 44,767 jobs/s.',
    'An API takes 4 840 requests a second.',
    'A job costs about 10 µs of CPU.',
  ])('is not allowed: %s', (text) => expect(strayFigures(text, bench)).toEqual([text]))
})

describe('a comparison', () => {
  test.each([
    'Coming from pg-boss, read this. It polls twice a second.',
    '<!-- bench:peers summary -->\n\n| graphile-worker 0.18.0 | 121% |\n\n<!-- /bench:peers -->\n',
  ])('is allowed: %s', (text) => expect(strayComparisons(text)).toEqual([]))

  test.each([
    'It does 191% of graphile-worker.',
    'It is 1.9 times as fast as graphile-worker.',
    '| Speed | 1.8 × graphile-worker |',
    'Twice BullMQ.',
    'It is faster than plainjob.',
    '<!-- bench:peers summary --><!-- /bench:peers -->It outperforms pg-boss.',
  ])('is not allowed: %s', (text) => expect(strayComparisons(text)).toHaveLength(1))
})
