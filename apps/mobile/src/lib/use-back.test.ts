import { describe, expect, it, vi } from 'vitest'
import { closeOnBack } from './use-back.web.ts'

const BACK = { navigationType: 'traverse', userInitiated: true, destination: { index: 1 } }

/** A browser that is at the third entry of its history. */
function browser() {
  const navigation = Object.assign(new EventTarget(), { currentEntry: { index: 2 } }) as unknown as Navigation
  return {
    navigation,
    /** Whether it stayed where it was. */
    stays(step: object, cancelable = true) {
      return !navigation.dispatchEvent(Object.assign(new Event('navigate', { cancelable }), step))
    },
  }
}

describe('Back in a browser', () => {
  it('closes an open sheet and stays on the page, until the sheet is closed', () => {
    const { navigation, stays } = browser()
    const close = vi.fn()
    const stop = closeOnBack(navigation, close)
    expect(stays(BACK)).toBe(true)
    expect(close).toHaveBeenCalledTimes(1)
    stop()
    expect(stays(BACK)).toBe(false)
    expect(close).toHaveBeenCalledTimes(1)
  })

  it('closes one thing at a time, the topmost first', () => {
    const { navigation, stays } = browser()
    const closed: string[] = []
    const below = closeOnBack(navigation, () => closed.push('below'))
    const above = closeOnBack(navigation, () => closed.push('above'))
    stays(BACK)
    expect(closed).toEqual(['above'])
    above()
    stays(BACK)
    expect(closed).toEqual(['above', 'below'])
    below()
  })

  it.each([
    ['a step that the router takes', { ...BACK, userInitiated: false }],
    ['a page that an action leads to', { ...BACK, navigationType: 'push', destination: { index: -1 } }],
    ['a step forward', { ...BACK, destination: { index: 3 } }],
  ])('leaves alone %s', (_, step) => {
    const { navigation, stays } = browser()
    const close = vi.fn()
    const stop = closeOnBack(navigation, close)
    expect(stays(step)).toBe(false)
    expect(close).not.toHaveBeenCalled()
    stop()
  })

  it('closes nothing when the page is left anyway', () => {
    const { navigation, stays } = browser()
    const close = vi.fn()
    const stop = closeOnBack(navigation, close)
    expect(stays(BACK, false)).toBe(false)
    expect(close).not.toHaveBeenCalled()
    stop()
  })
})
