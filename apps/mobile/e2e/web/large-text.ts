import type { Page } from 'playwright-core'

/** Text of twice the size, and nothing else, as those have who set that in their system: from the next page on. */
export async function enlargeText(page: Page): Promise<void> {
  await page.addInitScript(() => {
    const twice = (css: string) =>
      css.replace(/((?:font-size|line-height):\s*)([\d.]+)px/g, (_, name, px) => `${name}${Number(px) * 2}px`)

    // What react-native-web makes classes of.
    const insert = CSSStyleSheet.prototype.insertRule
    CSSStyleSheet.prototype.insertRule = function (rule, index) {
      return insert.call(this, twice(rule), index)
    }

    // What an element has for itself; each of the two may be set anew without the other.
    const grown = new WeakMap<HTMLElement, Record<string, string>>()
    const grow = (node: Node) => {
      if (!(node instanceof HTMLElement)) return
      const known = grown.get(node) ?? {}
      for (const name of ['fontSize', 'lineHeight'] as const) {
        const size = node.style[name]
        if (!size.endsWith('px') || size === known[name]) continue
        known[name] = node.style[name] = `${Number.parseFloat(size) * 2}px`
      }
      grown.set(node, known)
    }
    new MutationObserver((changes) => {
      for (const { target, addedNodes } of changes) {
        grow(target)
        for (const node of addedNodes) {
          grow(node)
          if (node instanceof HTMLElement) node.querySelectorAll('[style]').forEach(grow)
        }
      }
    }).observe(document, { subtree: true, childList: true, attributeFilter: ['style'] })
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
