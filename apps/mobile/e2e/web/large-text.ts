import type { Page } from 'playwright-core'

/** The usual size of text in browsers, in px. */
export const USUAL_SIZE = 16

/** Text of another size, and nothing else, as those have who set that in their browser: from the next page on. */
export async function enlargeText(page: Page, size = 2 * USUAL_SIZE): Promise<void> {
  await page.addInitScript((px) => {
    const grow = () => document.documentElement?.style.setProperty('font-size', `${px}px`)
    // Before the app: it reads the size when it starts.
    grow()
    document.addEventListener('DOMContentLoaded', grow)
  }, size)
}

interface TextSize {
  readonly text: string
  readonly size: number
  readonly line: number
  /** The number on a tab. */
  readonly isCount: boolean
}

/** The size of each text, in px: a text that has a size of its own is as large on every device. */
export function findSizes(): TextSize[] {
  return [...document.querySelectorAll('#root *')]
    .filter(({ childNodes }) => [...childNodes].some(({ nodeType }) => nodeType === Node.TEXT_NODE))
    .map((each) => {
      const { fontSize, lineHeight } = getComputedStyle(each)
      return {
        text: each.textContent ?? '',
        size: Number.parseFloat(fontSize),
        line: Number.parseFloat(lineHeight),
        isCount: each.closest('[data-testid$="-count"]') !== null,
      }
    })
}

/** Text that is cut off by a container that does not scroll sideways, and pages that do scroll sideways. */
export function findCut(): string[] {
  const hasText = (each: Element) => [...each.childNodes].some(({ nodeType }) => nodeType === Node.TEXT_NODE)
  /** The nearest container that clips. Null inside one that scrolls sideways on purpose, such as a row of chips. */
  const frameOf = (each: Element): Element | null => {
    const parent = each.parentElement
    if (parent === null) return document.documentElement
    const { overflowX } = getComputedStyle(parent)
    if (overflowX === 'auto' || overflowX === 'scroll') return null
    return overflowX === 'hidden' || overflowX === 'clip' ? parent : frameOf(parent)
  }
  const cut = [...document.querySelectorAll('h1, h2, h3, div, span')]
    .filter(hasText)
    .filter((each) => each.checkVisibility({ opacityProperty: true, visibilityProperty: true }))
    .filter((each) => {
      const frame = frameOf(each)?.getBoundingClientRect()
      const { left, right } = each.getBoundingClientRect()
      return frame !== undefined && (left < frame.left - 1 || right > frame.right + 1)
    })
  const isWide = document.documentElement.scrollWidth > innerWidth || document.body.scrollWidth > innerWidth
  return [...cut.map((each) => `cut: ${each.textContent}`), ...(isWide ? ['the page scrolls sideways'] : [])]
}

/** Text that ends in dots. */
export function findShortened(): string[] {
  return [...document.querySelectorAll('h1, h2, h3, div, span')]
    .filter((each) => getComputedStyle(each).textOverflow === 'ellipsis')
    .filter((each) => each.scrollWidth > each.clientWidth)
    .map((each) => `shortened: ${each.textContent}`)
}
