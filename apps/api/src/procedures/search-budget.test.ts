import { Gate } from '@oncue/testing'
import { describe, expect, it } from 'vitest'
import { SearchBudget } from './search-budget.ts'

const read = () => Promise.resolve('found')
const LIMITED = { code: 'RATE_LIMITED', details: { retryAfterSeconds: 60 } }

describe('a budget of searches', () => {
  it('belongs to each caller, and lasts a minute', async () => {
    let now = 0
    const budget = new SearchBudget(2, { monotonic: () => now })
    for (let n = 0; n < 2; n++) expect(await budget.spend('a', read)).toBe('found')
    await expect(budget.spend('a', read)).rejects.toMatchObject(LIMITED)
    expect(await budget.spend('b', read)).toBe('found')
    now = 60_000
    expect(await budget.spend('a', read)).toBe('found')
  })

  it('runs one search of a caller at a time, and others meanwhile', async () => {
    const budget = new SearchBudget(10, { monotonic: () => 0 })
    const begun: string[] = []
    const gates = new Map<string, () => void>()
    const held = (name: string) => () => {
      begun.push(name)
      return new Promise<string>((resolve) => gates.set(name, () => resolve(name)))
    }
    const first = budget.spend('a', held('first'))
    const second = budget.spend('a', held('second'))
    const other = budget.spend('b', held('other'))
    await Promise.resolve()
    expect(begun).toEqual(['first', 'other'])
    gates.get('first')?.()
    expect(await first).toBe('first')
    await Promise.resolve()
    expect(begun).toEqual(['first', 'other', 'second'])
    for (const open of gates.values()) open()
    expect(await Promise.all([second, other])).toEqual(['second', 'other'])
  })

  it('lets a few searches of a caller wait, refuses more without counting them, and serves other callers', async () => {
    const budget = new SearchBudget(7, { monotonic: () => 0 })
    const gate = new Gate<string>()
    const answers = Array.from({ length: 6 }, () => budget.spend('a', () => gate.opened))
    for (let n = 0; n < 3; n++)
      await expect(budget.spend('a', read)).rejects.toMatchObject({
        ...{ code: 'RATE_LIMITED', details: { retryAfterSeconds: 1 } },
      })
    expect(await budget.spend('b', read)).toBe('found')
    gate.open('late')
    expect(await Promise.all(answers)).toEqual(Array(6).fill('late'))
    expect(await budget.spend('a', read)).toBe('found')
    await expect(budget.spend('a', read)).rejects.toMatchObject(LIMITED)
  })

  it('does not start the search of a caller that has left', async () => {
    const budget = new SearchBudget(10, { monotonic: () => 0 })
    const gate = new Gate<string>()
    const first = budget.spend('a', () => gate.opened)
    const begun: string[] = []
    const note = (name: string) => async () => void begun.push(name)
    let isGone = false
    const left = budget.spend('a', note('left'), () => isGone)
    const stayed = budget.spend('a', note('stayed'), () => false)
    isGone = true
    gate.open('found')
    await first
    await expect(left).rejects.toMatchObject({ code: 'RATE_LIMITED' })
    await stayed
    expect(begun).toEqual(['stayed'])
  })

  it('continues after a search that failed', async () => {
    const budget = new SearchBudget(10, { monotonic: () => 0 })
    const failed = budget.spend('a', () => Promise.reject(new Error('no')))
    const next = budget.spend('a', read)
    await expect(failed).rejects.toThrow('no')
    expect(await next).toBe('found')
  })
})
