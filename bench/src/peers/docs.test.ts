import { describe, expect, test } from 'vitest'
import { recordedRun, renderDocuments, replaceSection } from './docs.ts'

test.each(renderDocuments())('$document shows the recorded run', ({ before, after }) => {
  expect(before, 'run pnpm bench peers --write-docs').toBe(after)
})

test('a recorded run is no smoke test', () => {
  const run = recordedRun()
  if (!run) return
  expect(run.rounds).toBeGreaterThanOrEqual(3)
  expect(Math.min(...run.rows.map(({ size }) => size))).toBeGreaterThanOrEqual(40_000)
})

describe('replaceSection', () => {
  test('replaces what is between the marks, and nothing else', () => {
    const text = 'a\n\n<!-- bench:peers all -->\n\nold\n\n<!-- /bench:peers -->\n\nb\n'
    expect(replaceSection(text, 'all', 'new')).toBe(text.replace('old', 'new'))
  })

  test('refuses a document without the marks', () => {
    expect(() => replaceSection('a', 'all', 'new')).toThrow('There is no section')
  })
})
