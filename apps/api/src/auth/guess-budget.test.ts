import { describe, expect, it } from 'vitest'
import { GuessBudget } from './guess-budget.ts'

const wrong = () => Promise.reject(new Error('wrong'))
const right = () => Promise.resolve('right')

describe('a budget of guesses', () => {
  const LIMITED = { code: 'RATE_LIMITED' }

  it('refuses an address after so many wrong ones, and no other', async () => {
    const budget = new GuessBudget(2, () => 0)
    await expect(budget.spend('a', wrong)).rejects.toThrow('wrong')
    await expect(budget.spend('a', wrong)).rejects.toThrow('wrong')
    await expect(budget.spend('a', right)).rejects.toMatchObject(LIMITED)
    expect(await budget.spend('b', right)).toBe('right')
  })

  it('lets in a right one, however many others were wrong', async () => {
    const budget = new GuessBudget(2, () => 0)
    for (let n = 0; n < 1_000; n++) {
      const address = `198.51.${n >> 8}.${n & 255}`
      for (const _ of [1, 2]) await expect(budget.spend(address, wrong)).rejects.toThrow('wrong')
    }
    expect(await budget.spend('192.0.2.1', right)).toBe('right')
  })

  it('takes the addresses of one network of IPv6 for one', async () => {
    const budget = new GuessBudget(2, () => 0)
    for (const address of ['2001:db8::1', '2001:db8::ffff:0:2'])
      await expect(budget.spend(address, wrong)).rejects.toThrow('wrong')
    await expect(budget.spend('2001:db8:0:0:9::3', right)).rejects.toMatchObject(LIMITED)
    expect(await budget.spend('2001:db8:0:1::1', right)).toBe('right')
  })

  it('lets in no more when they come at once', async () => {
    const budget = new GuessBudget(2, () => 0)
    const answers = await Promise.allSettled(Array.from({ length: 5 }, () => budget.spend('a', wrong)))
    const limited = answers.filter(
      (answer) => answer.status === 'rejected' && answer.reason.code === 'RATE_LIMITED',
    )
    expect(limited).toHaveLength(3)
  })

  it('takes what is right for nothing', async () => {
    const budget = new GuessBudget(2, () => 0)
    for (let n = 0; n < 10; n++) expect(await budget.spend('a', right)).toBe('right')
  })

  it('begins anew after a minute', async () => {
    let now = 0
    const budget = new GuessBudget(1, () => now)
    await expect(budget.spend('a', wrong)).rejects.toThrow('wrong')
    now = 59_999
    await expect(budget.spend('a', right)).rejects.toMatchObject({ details: { retryAfterSeconds: 1 } })
    now = 60_000
    expect(await budget.spend('a', right)).toBe('right')
  })
})
