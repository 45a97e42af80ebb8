import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { launchBrowser } from './browser.ts'
import { seed } from './seed.ts'
import { ADMIN_TOKEN, startWorld } from './world.ts'

/** Every screen in light and dark, on a phone and on a desk: `pnpm --filter @oncue/mobile screens`. */
const FOLDER = join(import.meta.dirname, '../../../../docs/screens')

const SCREENS = {
  now: '/',
  failures: '/failures',
  queues: '/queues',
  queue: '/queues/mail',
  alerts: '/alerts',
  jobs: '/jobs',
  workers: '/workers',
  schedules: '/schedules',
  activity: '/activity',
  settings: '/settings',
}
const SIZES = { phone: { width: 390, height: 844 }, desk: { width: 1280, height: 800 } }
const SCHEMES = ['light', 'dark'] as const

await mkdir(FOLDER, { recursive: true })
const world = await startWorld({ ONCUE_ENVIRONMENT: 'production' })
const browser = await launchBrowser()
try {
  await seed(world)
  for (const [size, viewport] of Object.entries(SIZES))
    for (const colorScheme of SCHEMES) {
      const context = await browser.newContext({ baseURL: world.url, viewport, colorScheme })
      const page = await context.newPage()
      const shoot = (name: string) =>
        page.screenshot({ path: join(FOLDER, `${name}-${size}-${colorScheme}.png`) })
      await page.goto('/')
      await page.getByLabel('Token').waitFor()
      await shoot('sign-in')
      await page.getByLabel('Token').fill(ADMIN_TOKEN)
      await page.getByRole('button', { name: 'Sign in' }).click()
      await page.getByText('Live', { exact: true }).waitFor()
      for (const [name, path] of Object.entries(SCREENS)) {
        await page.goto(path)
        await settle(page)
        await shoot(name)
      }
      await context.close()
    }
} finally {
  await browser.close()
  await world.close()
}

/** Until nothing loads any more and the stream is open. */
async function settle(page: Page): Promise<void> {
  await page.getByText('Live', { exact: true }).waitFor()
  await page.getByLabel('Loading').first().waitFor({ state: 'detached' })
  await page.evaluate(() => document.fonts.ready)
}
