import { describe, expect, it } from 'vitest'
import { type Command, findCommands, KEYS, PAGE_KEYS, PAGES } from './commands.ts'

const aCommand = (label: string, detail = 'Queue', isUsual = false): Command => ({
  ...{ id: label, label, detail, isUsual, icon: 'queues' },
  run: () => {},
})

describe('commands', () => {
  const commands = [
    aCommand('Jobs', 'Page', true),
    aCommand('mail'),
    aCommand('Pause mail', 'Action'),
    aCommand('bulk_mail'),
  ]
  const labels = (text: string) => findCommands(commands, text).map(({ label }) => label)

  it('are the usual ones before anything is typed', () => {
    expect(labels(' ')).toEqual(['Jobs'])
  })

  it('are found by all of their words, those that begin with the text first', () => {
    expect(labels('mail')).toEqual(['mail', 'Pause mail', 'bulk_mail'])
    expect(labels('MAIL pau')).toEqual(['Pause mail'])
    expect(labels('queue mail')).toEqual(['mail', 'bulk_mail'])
    expect(labels('nothing')).toEqual([])
  })

  it('are at most so many that they can be read', () => {
    const many = Array.from({ length: 100 }, (_, n) => aCommand(`queue ${n}`))
    expect(findCommands(many, 'queue')).toHaveLength(12)
  })
})

it('every page has a letter of its own, and the sheet of keys names each', () => {
  const letters = PAGES.map(({ href }) => PAGE_KEYS[href])
  expect(letters).not.toContain(undefined)
  expect(new Set(letters).size).toBe(letters.length)
  const told = KEYS.flatMap(({ keys }) => keys.map(([key]) => key))
  for (const letter of letters) expect(told).toContain(`g ${letter}`)
})
