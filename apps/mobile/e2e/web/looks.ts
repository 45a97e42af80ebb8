import { createHash } from 'node:crypto'
import { hostname } from 'node:os'
import { dirname, join } from 'node:path'
import { defineJobs, defineWorkers, job } from '@oncue/core'
import { systemRuntime } from '@oncue/runtime'
import { nap, until } from '@oncue/testing'
import type { Browser, Page } from 'playwright-core'
import { z } from 'zod'
import { addDemoData, bookTrips } from './demo-data.ts'
import { type Walk, walkScreens } from './walk.ts'
import { startWorld, type World } from './world.ts'

/** Longer than it takes to add the data. */
const AGE_MS = 10 * 60_000
const STILL_MS = 200

/**
 * What each screen looks like: a hash of the texts, icons and styles of its elements, each once, without numbers, times, ids
 * and names of the machine. It is taken of data that are always the same, at a time that stands still, so that only a
 * visible change of the app changes it. Pictures show live data, and cannot be compared.
 */
export async function takeLooks(
  browser: Browser,
  isChosen: Walk['isChosen'],
): Promise<Record<string, string>> {
  let at: Date | undefined
  const runtime = { ...systemRuntime, now: () => at?.getTime() ?? systemRuntime.now() }
  const world = await startWorld({ ONCUE_ENVIRONMENT: 'production' }, 'sqlite', runtime)
  // Stacks and the database's name show them.
  const folders = [join(import.meta.dirname, '../../../..'), dirname(world.databaseUrl.slice('file:'.length))]
  const looks: Record<string, string> = {}
  try {
    await addSteadyData(world)
    // All ages are minutes from now on, however long this takes.
    at = new Date(systemRuntime.now() + AGE_MS)
    await restAt(world, at)
    await walkScreens({
      ...{ browser, url: world.url, client: world.client, at, isChosen },
      ...{ sizes: ['phone', 'desk'], withStates: false, withLargeText: true },
      async visit(page, name) {
        looks[name] = await readLook(page, folders)
      },
    })
  } finally {
    await world.close()
  }
  return looks
}

/** Until all that is due at this moment has happened. */
async function restAt({ client }: World, at: Date): Promise<void> {
  await until(async () => {
    const workers = await client.workers.list()
    const { items: retrying } = await client.jobs.list({ status: 'retrying' })
    return workers.every(({ lastBeat }) => lastBeat >= at) && retrying.every(({ runAt }) => runAt > at)
  })
}

/** The subjects of all screens, and nothing that moves: no traffic, and no dice. */
async function addSteadyData(world: World): Promise<void> {
  const { client } = world
  await addDemoData(world)
  await bookTrips(world)
  await world.work(catalogue, { queues: ['search'] })
  const root = await client.jobs.enqueue('reindex_category', {}, { queue: 'search' })
  await until(async () => (await client.jobs.get(root)).finishedAt !== null)
  await client.jobs.enqueue('pay_invoice', {}, { queue: 'invoices' })
  await client.schedules.save({ name: 'pay_salaries', cron: '0 0 1 1 *', topic: 'pay_invoice' })
  const { code } = await client.pairings.create()
  await client.pairings.exchange({ code, name: 'The on-call phone' })
}

const jobs = defineJobs({
  reindex_category: job({ input: z.object({}), queue: 'search' }),
  index_product: job({ input: z.object({}), queue: 'search' }),
})
const catalogue = defineWorkers(jobs, {
  async reindex_category(_, ctx) {
    await ctx.spawn('index_product', {})
  },
  async index_product() {},
})

/** Once it stays as it is: parts and rows are shown one after the other. */
async function readLook(page: Page, folders: readonly string[]): Promise<string> {
  await page.mouse.move(0, 0)
  const read = async () => {
    const elements = await page.evaluate(describeElements)
    const lines = elements.map(({ text, look }) => `${maskData(text, folders)} ${look}`)
    const all = [...new Set(lines)].sort().join('\n')
    return createHash('sha256').update(all).digest('hex').slice(0, 16)
  }
  let seen = await read()
  await until(async () => {
    await nap(STILL_MS)
    const before = seen
    seen = await read()
    return seen === before
  })
  return seen
}

/** Who calls whom in a worker is chance. */
const FRAMES = /\bat .*file:.*|\d+ library frames?/g
const IDS = /[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}|…[\da-f]+\b/g
const MONTHS_AND_DAYS = /\b(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec|Mon|Tue|Wed|Thu|Fri|Sat|Sun)\b/g
/** With their units: what takes 1.2 s takes 340 ms on another day. */
const NUMBERS = /\d+(?:[.,:]\d+)*(?:\s?(?:ms|s|min|h|d|B|kB|KB|MB|GB)\b)?/g

const maskData = (text: string, folders: readonly string[]): string =>
  folders
    .reduce((masked, folder) => masked.replaceAll(folder, ''), text)
    .replaceAll(FRAMES, '#')
    .replaceAll(hostname(), '#')
    .replaceAll(IDS, '#')
    .replaceAll(MONTHS_AND_DAYS, '#')
    .replaceAll(NUMBERS, '#')
    .replaceAll(/#(?:\s#)+/g, '#')

/** In the browser. A line for each element: its tag, role, text and style. */
function describeElements(): { text: string; look: string }[] {
  const STYLES = [
    ...['display', 'flexDirection', 'justifyContent', 'alignItems', 'gap', 'position', 'overflow'],
    ...['padding', 'margin', 'minWidth', 'maxWidth', 'minHeight', 'maxHeight', 'textAlign', 'opacity'],
    ...['color', 'backgroundColor', 'fill', 'stroke', 'strokeWidth', 'boxShadow'],
    ...['borderWidth', 'borderStyle', 'borderColor', 'borderRadius'],
    ...['fontFamily', 'fontSize', 'fontWeight', 'fontStyle', 'lineHeight', 'letterSpacing'],
    'textDecorationLine',
  ] as const
  const seen = [...document.querySelectorAll('body *')].filter(
    (each) =>
      !['SCRIPT', 'STYLE'].includes(each.tagName) &&
      each.checkVisibility({ visibilityProperty: true, opacityProperty: true }),
  )
  return seen.map((each) => {
    const text = [...each.childNodes]
      .filter(({ nodeType }) => nodeType === Node.TEXT_NODE)
      .map(({ nodeValue }) => nodeValue)
    // Icons are drawn on a grid of 24; charts are data.
    const isIcon = each.closest('svg')?.getAttribute('viewBox') === '0 0 24 24'
    const shape = isIcon ? each.getAttribute('d') : null
    const style = getComputedStyle(each)
    const styles = STYLES.map((name) => style[name])
    const look = [each.tagName.toLowerCase(), each.getAttribute('role'), shape, ...styles].join('|')
    return { text: text.join(''), look }
  })
}
