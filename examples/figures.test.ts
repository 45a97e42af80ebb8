import { describe, expect, test } from 'vitest'
import { DOCUMENTS, proseOf, readDocument } from './markdown.ts'

/**
 * Figures of `pnpm bench` are in bench/README.md, which is rewritten with every run. Other pages link to it. Where
 * one compares Oncue with something else, it quotes the percentage of that table, so that a new run changes both.
 */
const BENCH = 'bench/README.md'

/** The names that pages use for what Oncue is compared with, and the row of the table of `bench worker`. */
const PEERS: readonly (readonly [name: RegExp, row: string])[] = [
  [/graphile-worker/i, 'graphile-worker'],
  [/\bbare (loop|route)|hand-written (SQL )?loop|hand-written SQL/i, 'bare'],
  [/pg-boss/i, 'pg-boss'],
  [/BullMQ/i, 'BullMQ'],
  [/\bRiver\b/, 'River'],
  [/\bOban\b/, 'Oban'],
]
const COUNT = String.raw`(?:\d[\d.,]*|two|three|four|five|six|seven|eight|nine|ten)`
const RATIO = new RegExp(String.raw`\d[\d.,]* ?(?:%|×)|\b${COUNT} times\b|\btwice\b|\b\d+x\b`, 'gi')
const RATE = /\d[\d,. ]*k? ?(?:jobs|requests|enqueues|claims)(?:\/s\b| (?:per|a) second)|\d[\d.]* ?µs of CPU/i

/** Rows of tables, and sentences. */
function statementsOf(prose: string): string[] {
  return prose.split(/\n(?=[|#-])|\n\n/).flatMap((part) => {
    const line = part.replaceAll(/\s+/g, ' ')
    return line.startsWith('|') ? [line] : line.split(/(?<=[.;!?]) /)
  })
}

const ratiosIn = (text: string) => [...text.matchAll(RATIO)].map(([ratio]) => ratio.replace(' ', ''))

/** The statements with a figure of a benchmark that the last run does not have. */
function strayFigures(prose: string, bench: string): string[] {
  return statementsOf(prose).filter((statement) => {
    if (RATE.test(statement)) return true
    const rows = PEERS.filter(([name]) => name.test(statement)).map(([, row]) => row)
    if (rows.length === 0) return false
    // The first percentage of a row is the result; after it come the spread and the goal.
    const shown = bench
      .split('\n')
      .filter((line) => rows.some((row) => new RegExp(String.raw`^\| ${row} +\|`).test(line)))
      .map((line) => ratiosIn(line)[0])
    return ratiosIn(statement).some((ratio) => !shown.includes(ratio))
  })
}

test.each(DOCUMENTS.filter((path) => path !== BENCH))(
  '%s has no figure that the last run does not have',
  (page) => {
    expect(strayFigures(proseOf(page), readDocument(BENCH))).toEqual([])
  },
)

describe('a figure', () => {
  const bench =
    '| graphile-worker | 23 238 | 191 % | ≥ 100 % |\n| bare            | 62 133 |  74 % | ≥ 70 % |\n'

  test.each([
    'It does 191% of the jobs of graphile-worker.',
    '| Speed | 191 % of graphile-worker, 74 % of a hand-written SQL loop |',
    'It polls twice a second. Coming from pg-boss, read this.',
  ])('is allowed: %s', (text) => expect(strayFigures(text, bench)).toEqual([]))

  test.each([
    'It does 196 % of graphile-worker.',
    'It does 70 % of a hand-written SQL loop.',
    'It does 1.9 times graphile-worker, 74 % of a bare loop.',
    'It is 1.9 times as fast as graphile-worker.',
    'Three times the time of a bare route.',
    'Twice BullMQ.',
    'A worker drains 44,767 jobs/s.',
    'An API takes 4 840 requests a second.',
    'A job costs about 10 µs of CPU.',
  ])('is not allowed: %s', (text) => expect(strayFigures(text, bench)).toEqual([text]))
})
