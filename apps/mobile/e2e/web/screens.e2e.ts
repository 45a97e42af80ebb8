import type { Page } from 'playwright-core'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { everyScreen, settled } from './every-screen.ts'
import { closeBrowser, DESKTOP, enter, PHONE, seriousFindings } from './harness.ts'
import { seed } from './seed.ts'
import { startWorld, type World } from './world.ts'

let world: World
beforeAll(async () => {
  world = await startWorld({ ONCUE_ENVIRONMENT: 'production' })
  await seed(world)
})
afterAll(async () => {
  await closeBrowser()
  await world.close()
})

it.each([
  ['a phone', PHONE],
  ['a desk', DESKTOP],
])(
  'on %s every screen opens cold, fits, and can be read by everybody, in light and dark',
  async (_, viewport) => {
    const { page } = await enter(world, '/', { viewport })
    const found: Record<string, unknown> = {}
    for (const [name, path] of Object.entries(await everyScreen(world.client))) {
      await page.goto(path)
      await settled(page)
      const problems = await problemsOf(page)
      if (problems.length > 0) found[name] = problems
    }
    expect(found).toEqual({})
  },
)

async function problemsOf(page: Page): Promise<string[]> {
  const problems = await page.evaluate(findCut)
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' })
    await page.evaluate(twoFrames)
    await page.waitForFunction(isShownIn, colorScheme)
    problems.push(...(await seriousFindings(page)).map((finding) => `${colorScheme}: ${finding}`))
  }
  return problems
}

/** Text that reaches out of the window, where nothing scrolls sideways. */
function findCut(): string[] {
  const scrolls = (element: Element | null): boolean =>
    element !== null && (getComputedStyle(element).overflowX === 'auto' || scrolls(element.parentElement))
  return [...document.querySelectorAll('h1, h2, h3, div, span')]
    .filter((each) => [...each.childNodes].some(({ nodeType }) => nodeType === Node.TEXT_NODE))
    .filter((each) => each.getBoundingClientRect().right > innerWidth + 1 && !scrolls(each.parentElement))
    .map((each) => `cut: ${each.textContent}`)
}

/** Until then a page need not have heard of it. */
const twoFrames = () => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)))

function isShownIn(scheme: 'light' | 'dark'): boolean {
  const ink = getComputedStyle(document.querySelector('h1') ?? document.body).color
  const isLightInk = (ink.match(/\d+/g) ?? []).slice(0, 3).every((part) => Number(part) > 128)
  return isLightInk === (scheme === 'dark')
}
