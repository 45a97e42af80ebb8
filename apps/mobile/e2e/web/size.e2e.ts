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

const MANY = 10_000

it(`${MANY} jobs are scrolled through with a bounded page and heap`, async () => {
  const world = await openWorld()
  const batch = Array.from({ length: 1_000 }, () => ({ topic: 'resize_image', payload: { width: 640 } }))
  await world.client.jobs.enqueue('the_first', null)
  for (let done = 1; done < MANY; done += batch.length)
    await world.client.jobs.enqueueMany(batch.slice(0, MANY - done))

  const { page } = await enter(world, '/jobs')
  await page
    .getByRole('link', { name: /^resize_image/ })
    .first()
    .waitFor()
  const before = await weigh(page)
  await scrollToEnd(page)
  await page.getByRole('link', { name: /^the_first/ }).waitFor()
  const after = await weigh(page)
  expect(after.nodes).toBeLessThan(3_000)
  expect(after.megabytes - before.megabytes).toBeLessThan(25)
})

/** Scrolls as fast as pages arrive. */
function scrollToEnd(page: Page): Promise<void> {
  return page.evaluate(async () => {
    const list = [...document.querySelectorAll('main *')].find(
      (each) => each.scrollHeight > each.clientHeight + 100 && getComputedStyle(each).overflowY === 'auto',
    )
    const isThere = () => list?.textContent?.includes('the_first')
    while (list && !isThere()) {
      list.scrollTop = list.scrollHeight
      await new Promise(requestAnimationFrame)
    }
  })
}

async function weigh(page: Page): Promise<{ nodes: number; megabytes: number }> {
  const session = await page.context().newCDPSession(page)
  await session.send('HeapProfiler.collectGarbage')
  const { usedSize } = await session.send('Runtime.getHeapUsage')
  const nodes = await page.evaluate(() => document.querySelectorAll('*').length)
  return { nodes, megabytes: usedSize / 1_000_000 }
}
