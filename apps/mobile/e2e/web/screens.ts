import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { parseArgs } from 'node:util'
import { createSqliteDatabase } from '@oncue/db/testing'
import { silentLogger } from '@oncue/worker'
import type { Browser, Page } from 'playwright-core'
import { playThePast, startDemo } from '../../../../examples/demo/demo.ts'
import { launchBrowser } from './browser.ts'
import { askForRefund, bookTrips } from './demo-data.ts'
import { takeLooks } from './looks.ts'
import { SIZES, type Size, screenOf, walkScreens } from './walk.ts'
import { startWorld, type World } from './world.ts'

/**
 * Every screen with half an hour of demo traffic behind it, in light and dark, on a phone and on a desk, and the main
 * ones with text of twice the size: `pnpm --filter @oncue/mobile screens`. To be looked at.
 *
 * With `--folder` they are written elsewhere; `--sizes tablet,wide` and `--only now,queue` choose them; `--states` adds
 * all states that no address shows, such as a first load. `--check` takes none, and fails if a screen does not look as
 * it did when its picture in `docs/screens` was taken.
 */
const ROOT = join(import.meta.dirname, '../../../..')
const PICTURES = join(ROOT, 'docs/screens')
/** What each picture's screen looked like when it was taken. */
const LOOKS = join(PICTURES, 'looks.json')
const { values: options } = parseArgs({
  options: {
    folder: { type: 'string' },
    sizes: { type: 'string', default: 'phone,desk' },
    only: { type: 'string' },
    states: { type: 'boolean', default: false },
    check: { type: 'boolean', default: false },
  },
})
const FOLDER = options.folder ?? PICTURES
const isChosen = (name: string) => options.only === undefined || options.only.split(',').includes(name)

const browser = await launchBrowser()
try {
  if (options.check) await check(browser)
  else await takePictures(browser)
} finally {
  await browser.close()
}

async function takePictures(browser: Browser): Promise<void> {
  const database = await createSqliteDatabase()
  await playThePast(database.url, new AbortController().signal)
  const world = await startWorld({ ONCUE_ENVIRONMENT: 'production' }, database)
  const demo = await startDemo(world.store, silentLogger)
  try {
    await furnish(world)
    if (FOLDER === PICTURES && options.only === undefined) await rm(FOLDER, { recursive: true, force: true })
    await mkdir(FOLDER, { recursive: true })
    await walkScreens({
      ...{ browser, url: world.url, client: world.client, isChosen },
      ...{ sizes: options.sizes.split(',').map(sizeOf), withStates: options.states },
      withLargeText: FOLDER === PICTURES,
      visit: (page, name) => shoot(page, name, dirname(database.url.slice('file:'.length))),
    })
  } finally {
    await demo.stop()
    await world.close()
  }
  if (FOLDER === PICTURES)
    await writeLooks({ ...(await readLooks()), ...(await takeLooks(browser, isChosen)) })
}

function sizeOf(name: string): Size {
  if (!(name in SIZES))
    throw new Error(`There is no size ${name}; choose from ${Object.keys(SIZES).join(', ')}`)
  return name as Size
}

async function readLooks(): Promise<Record<string, string>> {
  return JSON.parse(await readFile(LOOKS, 'utf8').catch(() => '{}'))
}

async function writeLooks(looks: Record<string, string>): Promise<void> {
  const sorted = Object.fromEntries(Object.entries(looks).sort(([a], [b]) => (a < b ? -1 : 1)))
  await writeFile(LOOKS, `${JSON.stringify(sorted, null, 2)}\n`)
}

async function check(browser: Browser): Promise<void> {
  const taken = await readLooks()
  const pictures = (await readdir(PICTURES)).filter((file) => file.endsWith('.png'))
  const present = await takeLooks(browser, () => true)
  const old = Object.keys(present).filter(
    (name) => taken[name] !== present[name] || !pictures.includes(`${name}.png`),
  )
  const needless = pictures.filter((file) => !(file.replace('.png', '') in present))
  if (needless.length > 0) process.stdout.write(`No screen has these pictures: ${needless.join(', ')}\n`)
  if (old.length > 0) {
    const screens = [...new Set(old.map(screenOf))].join(',')
    process.stdout.write(`These screens look different from their pictures: ${old.join(', ')}\n`)
    process.stdout.write(`Retake them: pnpm export:web && pnpm screens --only ${screens}\n`)
  }
  if (needless.length + old.length > 0) process.exitCode = 1
}

/** Cuts machine-specific paths out of stacks and of the database's name. */
async function shoot(page: Page, name: string, databaseFolder: string): Promise<void> {
  // What is under the pointer looks different.
  await page.mouse.move(0, 0)
  const paths = [ROOT, databaseFolder]
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
