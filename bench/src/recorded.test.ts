import { describe, expect, test } from 'vitest'
import { durable } from './durable/index.ts'
import { peers } from './peers/index.ts'
import { reads } from './reads/index.ts'
import { replaceSection } from './recorded.ts'
import { scale } from './scale/index.ts'
import { soak } from './soak/index.ts'

describe.each([peers, reads, scale, soak, durable].flatMap((benchmark) => benchmark.recorded ?? []))(
  '$name',
  ({ name, files, isWhole }) => {
    test.each(files())('$path shows the recorded run', ({ before, after }) => {
      expect(before, `run pnpm bench ${name} --write-docs`).toBe(after)
    })

    test('a recorded run is no smoke test', () => expect(isWhole).not.toBe(false))
  },
)

describe('replaceSection', () => {
  test('replaces what is between the marks, and nothing else', () => {
    const text = 'a\n\n<!-- bench:peers all -->\n\nold\n\n<!-- /bench:peers -->\n\nb\n'
    expect(replaceSection(text, 'peers all', 'new')).toBe(text.replace('old', 'new'))
  })

  test('refuses a document without the marks', () => {
    expect(() => replaceSection('a', 'peers all', 'new')).toThrow('There is no section')
  })
})
