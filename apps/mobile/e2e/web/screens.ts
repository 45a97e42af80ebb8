import { mkdir, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { parseArgs } from 'node:util'
import { createSqliteDatabase } from '@oncue/db/testing'
import { silentLogger } from '@oncue/worker'
import type { Browser, BrowserContextOptions, Page } from 'playwright-core'
import { playThePast, startDemo } from '../../../../examples/demo/demo.ts'
import { launchBrowser } from './browser.ts'
import { askForRefund, bookTrips } from './demo-data.ts'
import { everyScreen, settled } from './every-screen.ts'
import { enlargeText } from './large-text.ts'
import { everyState } from './states.ts'
import { ADMIN_TOKEN, startWorld, type World } from './world.ts'

/**
 * Every screen with half an hour of demo traffic behind it, in light and dark, on a phone and on a desk, and the main
 * ones with text of twice the size: `pnpm --filter @oncue/mobile screens`. To be looked at.
 *
 * With `--folder` they are written elsewhere; `--sizes tablet,wide` and `--only now,queue` choose them; `--states` adds
 * all states that no address shows, such as a first load.
 */
const ROOT = join(import.meta.dirname, '../../../..')
const { values: options } = parseArgs({
  options: {
    folder: { type: 'string' },
    sizes: { type: 'string', default: 'phone,desk' },
    only: { type: 'string' },
    states: { type: 'boolean', default: false },
  },
})
const FOLDER = options.folder ?? join(ROOT, 'docs/screens')
const SIZES = {
  phone: { width: 390, height: 844 },
  tablet: { width: 1024, height: 768 },
  desk: { width: 1440, height: 900 },
  wide: { width: 2560, height: 1440 },
  // What is below the fold of the others.
  'long-phone': { width: 390, height: 2_600 },
  'long-desk': { width: 1440, height: 2_600 },
}
const isChosen = (name: string) => options.only === undefined || options.only.split(',').includes(name)
/** Long enough for a busy machine. */
const PATIENCE_MS = 60_000
const SCHEMES = ['light', 'dark'] as const
const MAIN = ['now', 'failures', 'failure', 'queues', 'job']

const database = await createSqliteDatabase()
await playThePast(database.url, new AbortController().signal)
const world = await startWorld({ ONCUE_ENVIRONMENT: 'production' }, database)
const demo = await startDemo(world.store, silentLogger)
const browser = await launchBrowser()
try {
  await furnish(world)
  if (options.folder === undefined) await rm(FOLDER, { recursive: true, force: true })
  await mkdir(FOLDER, { recursive: true })
  const screens = Object.entries(await everyScreen(world.client)).filter(([name]) => isChosen(name))
  for (const size of options.sizes.split(','))
    for (const colorScheme of SCHEMES)
      await shootAll(screens, `${size}-${colorScheme}`, { viewport: viewportOf(size), colorScheme })
  if (options.folder === undefined) await shootLarge(screens.filter(([name]) => MAIN.includes(name)))
} finally {
  await browser.close()
  await demo.stop()
  await world.close()
}

function viewportOf(size: string): { readonly width: number; readonly height: number } {
  const viewport = SIZES[size as keyof typeof SIZES]
  if (!viewport) throw new Error(`There is no size ${size}; choose from ${Object.keys(SIZES).join(', ')}`)
  return viewport
}

type Screens = readonly (readonly [name: string, path: string])[]

async function shootAll(screens: Screens, suffix: string, context: BrowserContextOptions): Promise<void> {
  const page = await openPage(browser, context)
  await page.goto('/')
  await page.getByLabel('Token').waitFor()
  await shoot(page, `sign-in-${suffix}`)
  await signIn(page)
  for (const [name, path] of screens) {
    await page.goto(path)
    await settled(page)
    // Until then it says that it searches.
    if (name === 'nothing-found') await page.getByText('Nothing found', { exact: true }).waitFor()
    if (name === 'queue' || name === 'failure' || (name === 'now' && !suffix.includes('phone')))
      await page.getByRole('slider').first().waitFor()
    await shoot(page, `${name}-${suffix}`)
    if (name === 'failure') await shootSheet(page, suffix)
    if (name === 'questions') await shootAnswer(page, suffix)
  }
  const isWide = (context.viewport?.width ?? 0) >= 900
  for (const { name, show, isPictured = false, isOfDesk = false } of everyState(world.client)) {
    if (!isChosen(name) || !(isPictured || options.states) || (isOfDesk && !isWide)) continue
    try {
      await show(page)
      await shoot(page, `${name}-${suffix}`)
    } catch (error) {
      // The other pictures do not need this one.
      process.stderr.write(`${name}-${suffix}: ${error}\n`)
      process.exitCode = 1
    }
    await page.unrouteAll({ behavior: 'ignoreErrors' })
  }
  await page.context().close()
}

async function shootSheet(page: Page, suffix: string): Promise<void> {
  await page.getByRole('button', { name: /^Retry these \d/ }).click()
  await page.getByRole('button', { name: /^Hold to retry/ }).waitFor()
  await shoot(page, `confirm-${suffix}`)
}

async function shootAnswer(page: Page, suffix: string): Promise<void> {
  await page.getByRole('link', { name: /^Refund/ }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Yes', exact: true }).click()
  await shoot(page, `answer-${suffix}`)
}

async function shootLarge(screens: Screens): Promise<void> {
  const page = await openPage(browser, { viewport: SIZES.phone })
  await enlargeText(page)
  await page.goto('/')
  await signIn(page)
  for (const [name, path] of screens) {
    await page.goto(path)
    await settled(page)
    await shoot(page, `${name}-phone-large-text`)
  }
  await page.context().close()
}

async function openPage(browser: Browser, options: BrowserContextOptions): Promise<Page> {
  // A service worker would answer requests that a state holds back.
  const calm = { reducedMotion: 'reduce', serviceWorkers: 'block' } as const
  const context = await browser.newContext({ baseURL: world.url, ...calm, ...options })
  context.setDefaultTimeout(PATIENCE_MS)
  return context.newPage()
}

async function signIn(page: Page): Promise<void> {
  await page.getByLabel('Token').fill(ADMIN_TOKEN)
  await page.getByRole('button', { name: 'Sign in' }).click()
  await settled(page)
}

/** Cuts machine-specific paths out of stacks and of the database's name. */
async function shoot(page: Page, name: string): Promise<void> {
  // What is under the pointer looks different.
  await page.mouse.move(0, 0)
  const paths = [ROOT, dirname(database.url.slice('file:'.length))]
  await page.evaluate((roots) => {
    const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT)
    for (let text = texts.nextNode(); text; text = texts.nextNode())
      for (const root of roots) text.nodeValue = text.nodeValue?.replaceAll(root, '/app') ?? null
  }, paths)
  await page.screenshot({ path: join(FOLDER, `${name}.png`), animations: 'disabled' })
}

/** Adds what traffic alone does not create: an alert, a channel, a device and a manual action. */
async function furnish(world: World): Promise<void> {
  const { client } = world
  await askForRefund(world)
  await bookTrips(world)
  const rule = { kind: 'oldest_waiting', queue: 'media', threshold: 60, forSeconds: 0 } as const
  await client.alerts.createRule({ ...rule, name: 'videos within a minute' })
  await client.channels.create({ kind: 'webhook', name: 'pager', url: 'https://pager.example/oncue' })
  const { code } = await client.pairings.create()
  await client.pairings.exchange({ code, name: 'The on-call phone' })
  // The largest: Oncue's own failures to deliver, which are newer, could not show a retry that goes on.
  const groups = await client.jobs.failures({ sort: 'largest' })
  const group = groups.find(({ failed }) => failed > 1)
  if (!group) throw new Error('Nothing has failed in the demo: there is nothing to retry')
  const { topic, queue, payload } = await client.jobs.get(group.sample.jobId)
  // Jobs of the demo give up at once; these are retried.
  await client.jobs.enqueueMany(Array.from({ length: 12 }, () => ({ topic, queue, payload, maxRetries: 5 })))
  const what = { action: 'requeue', filter: { status: 'failed', fingerprint: group.fingerprint } } as const
  const { asOf, count } = await client.bulkOperations.preview(what)
  await client.bulkOperations.run({
    ...what,
    asOf,
    expectedCount: count,
    idempotencyKey: 'screens',
    spreadSeconds: 1_800,
  })
  for await (const open of client.alerts.watch()) if (open.length > 0) break
}
