import { describe, expect, it } from 'vitest'
import { escapeLogLine } from './escape.ts'

describe('escapeLogLine', () => {
  const escaped = (fields: object) => JSON.parse(escapeLogLine(`${JSON.stringify(fields)}\n`))

  it.each([
    ['a new line', 'a\nb', 'a\\nb'],
    ['a return', 'a\rb', 'a\\u000db'],
    ['a terminal escape sequence', 'a\u001b[2Jb', 'a\\u001b[2Jb'],
    ['an 8-bit escape sequence', 'a\u009b2Jb', 'a\\u009b2Jb'],
    ['a line separator', 'a\u2028b', 'a\\u2028b'],
    ['a change of direction', 'a\u202eb', 'a\\u202eb'],
    ['letters of any language', 'Zoë 中文 🎉', 'Zoë 中文 🎉'],
  ])('makes a message one line: %s', (_, msg, expected) => {
    expect(escaped({ level: 30, msg })).toEqual({ level: 30, msg: expected })
  })

  it('keeps the lines of a stack, and escapes everything else that moves the cursor', () => {
    const stack = 'Error: a\u001b[2J\r\n    at b'
    expect(escaped({ err: { stack } })).toEqual({ err: { stack: 'Error: a\\u001b[2J\\u000d\n    at b' } })
  })

  it('leaves to JSON what JSON escapes', () => {
    expect(escaped({ path: 'a\nb\u009b' })).toEqual({ path: 'a\nb\\u009b' })
  })
})
