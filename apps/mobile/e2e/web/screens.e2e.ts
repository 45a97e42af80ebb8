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
  240_000,
)

async function problemsOf(page: Page): Promise<string[]> {
  const problems = await page.evaluate(() => {
    const { scrollWidth, clientWidth } = document.documentElement
    const titles = document.querySelectorAll('h1').length
    return [
      ...(scrollWidth > clientWidth ? [`${scrollWidth - clientWidth} px wider than the window`] : []),
      ...(titles === 0 ? ['no title'] : []),
    ]
  })
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' })
    problems.push(...(await seriousFindings(page)).map((finding) => `${colorScheme}: ${finding}`))
  }
  return problems
}
