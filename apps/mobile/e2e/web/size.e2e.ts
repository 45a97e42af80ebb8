import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import type { Page } from 'playwright-core'
import { afterAll, expect, it } from 'vitest'
import { APP } from './config.ts'
import { closeBrowser, enter, openWorld } from './harness.ts'

afterAll(closeBrowser)

const MAX_KB = 450

/** The scripts that the page names. Others are loaded with their screens. */
async function namedScripts(): Promise<string[]> {
  const page = await readFile(join(APP, 'index.html'), 'utf8')
  return [...page.matchAll(/<script src="\/([^"]+)"/g)].map(([, path = '']) => path)
}

it(`the first view loads at most ${MAX_KB} KB of scripts, all named by the page itself`, async () => {
  const scripts = await namedScripts()
  const sizes = await Promise.all(
    scripts.map(async (path) => gzipSync(await readFile(join(APP, path))).length),
  )
  expect(scripts.length).toBeGreaterThan(0)
  expect(sizes.reduce((sum, size) => sum + size, 0) / 1_000).toBeLessThanOrEqual(MAX_KB)
})

it('Now costs the API one request and one stream', async () => {
  const world = await openWorld()
  const { page } = await enter(world, '/workers')
  // So that no poll of that page is counted.
  await page.goto('about:blank')
  const asked: string[] = []
  page.on('request', (request) => {
    const { pathname } = new URL(request.url())
    asked.push(pathname.endsWith('.js') ? 'script' : pathname)
  })
  await page.goto('/')
  await page.getByRole('button', { name: /^Live/ }).waitFor()
  await world.client.jobs.enqueue('anything', null)
  await page.getByRole('link', { name: /^Backlog: 1,/ }).waitFor()
  // tokens.me comes first: the page cannot read the cookie.
  const calls = ['/', '/trpc/health.get', '/trpc/health.watch', '/trpc/tokens.me']
  expect(asked.sort()).toEqual([...calls, ...(await namedScripts()).map(() => 'script')])
})

const MANY = 55_000
const SCROLLED = 10_000
/** A few screens of them, however many there are. */
const MAX_ROWS = 100
/** Between a jump and the rows that are to be seen there. */
const MAX_BLANK_FRAMES = 60

it(`${MANY} jobs are listed, and ${SCROLLED} scrolled through, with a bounded page and heap`, async () => {
  const world = await openWorld()
  await world.client.jobs.enqueue('the_first', null, { queue: 'media' })
  const fill = async (queue: string, many: number) => {
    const job = { topic: 'resize_image', queue, payload: { width: 640 } }
    for (let left = many; left > 0; left -= 1_000)
      await world.client.jobs.enqueueMany(Array.from({ length: Math.min(left, 1_000) }, () => job))
  }
  await fill('media', SCROLLED - 1)
  await fill('mail', MANY - SCROLLED)

  const { page } = await enter(world, '/jobs')
  await page.getByRole('status').getByText('55,000 jobs, newest first').waitFor()
  await scrollThrough(page, { rows: 1_000 })
  const { jumps, mostRows, mostBlankFrames } = await jumpToTop(page)
  expect(jumps).toBeGreaterThan(2)
  expect(mostRows).toBeLessThan(MAX_ROWS)
  expect(mostBlankFrames).toBeLessThan(MAX_BLANK_FRAMES)

  await page.goto('/jobs?queue=media')
  await page
    .getByRole('link', { name: /^resize_image in media/ })
    .first()
    .waitFor()
  const before = await weigh(page)
  const passed = await scrollThrough(page, { until: 'the_first' })
  await page.getByRole('link', { name: /^the_first/ }).waitFor()
  const after = await weigh(page)
  expect(after.nodes).toBeLessThan(3_000)
  expect(after.megabytes - before.megabytes).toBeLessThan(25)
  expect(passed.mostRows).toBeLessThan(MAX_ROWS)
})

/** As fast as pages come, until a topic is there, or so many rows have been. */
function scrollThrough(
  page: Page,
  end: { readonly until?: string; readonly rows?: number },
): Promise<{ mostRows: number }> {
  return page.evaluate(async ({ until, rows }) => {
    const list = [...document.querySelectorAll('main *')].find(
      (each) => each.scrollHeight > each.clientHeight + 100 && getComputedStyle(each).overflowY === 'auto',
    )
    const row = () => list?.querySelector('[role="link"]')?.getBoundingClientRect().height ?? 0
    const isThere = () => {
      if (until !== undefined) return list?.textContent?.includes(until)
      return (list?.scrollHeight ?? 0) > (rows ?? 0) * row()
    }
    let mostRows = 0
    while (list && !isThere()) {
      list.scrollTop = list.scrollHeight
      await new Promise(requestAnimationFrame)
      mostRows = Math.max(mostRows, list.querySelectorAll('[role="link"]').length)
    }
    return { mostRows }
  }, end)
}

/** Ten times as far as a screen, again and again: at each place rows must be seen before the next jump. */
function jumpToTop(page: Page): Promise<{ jumps: number; mostRows: number; mostBlankFrames: number }> {
  return page.evaluate(async () => {
    const list = [...document.querySelectorAll('main *')].find(
      (each) => each.scrollHeight > each.clientHeight + 100 && getComputedStyle(each).overflowY === 'auto',
    )
    const found = { jumps: 0, mostRows: 0, mostBlankFrames: 0 }
    if (!list) return found
    const { top, bottom } = list.getBoundingClientRect()
    const isSeen = (row: Element) => {
      const at = row.getBoundingClientRect()
      return at.bottom > top && at.top < bottom
    }
    while (list.scrollTop > 0) {
      list.scrollTop -= 10 * list.clientHeight
      found.jumps += 1
      let blank = 0
      for (; ; blank++) {
        await new Promise(requestAnimationFrame)
        const rows = [...list.querySelectorAll('[role="link"]')]
        found.mostRows = Math.max(found.mostRows, rows.length)
        if (rows.some(isSeen)) break
      }
      found.mostBlankFrames = Math.max(found.mostBlankFrames, blank)
    }
    return found
  })
}

async function weigh(page: Page): Promise<{ nodes: number; megabytes: number }> {
  const session = await page.context().newCDPSession(page)
  await session.send('HeapProfiler.collectGarbage')
  const { usedSize } = await session.send('Runtime.getHeapUsage')
  const nodes = await page.evaluate(() => document.querySelectorAll('*').length)
  return { nodes, megabytes: usedSize / 1_000_000 }
}
