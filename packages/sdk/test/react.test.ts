import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { fileURLToPath } from 'node:url'
import { ADMIN_TOKEN } from '@oncue/api/testing'
import { eventually, Gate } from '@oncue/testing'
import { rolldown } from 'rolldown'
import { beforeAll, expect, onTestFinished, test } from 'vitest'
import { launchBrowser } from '../../../apps/mobile/e2e/web/browser.ts'
import { createClient } from '../src/index.ts'
import { startWorld } from './harness.ts'
import type { Page } from './react/page.ts'

/** The hook in a component, in a real browser, against the API: in React's strict mode, which mounts everything twice. */

let script: string
beforeAll(async () => {
  const build = await rolldown({
    input: fileURLToPath(new URL('react/page.ts', import.meta.url)),
    platform: 'browser',
  })
  const { output } = await build.generate({ format: 'esm' })
  await build.close()
  script = output[0].code
})

/** The way from the browser to the API, which a test can cut. */
class Cable {
  readonly #sockets = new Set<Socket>()
  #isCut = false
  url = ''

  static async to(api: string): Promise<Cable> {
    const cable = new Cable()
    const server = createServer((near) => {
      if (cable.#isCut) return near.destroy()
      const far = connect(Number(new URL(api).port), '127.0.0.1')
      for (const [socket, other] of [
        [near, far],
        [far, near],
      ] as const) {
        cable.#sockets.add(socket)
        socket.on('error', () => {}).on('close', () => other.destroy())
        socket.pipe(other)
      }
    }).listen(0, '127.0.0.1')
    await once(server, 'listening')
    onTestFinished(() => {
      cable.cut()
      server.close()
    })
    cable.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    return cable
  }

  cut(): void {
    this.#isCut = true
    for (const socket of this.#sockets) socket.destroy()
    this.#sockets.clear()
  }

  mend(): void {
    this.#isCut = false
  }
}

/** The text that the component shows, and what the test does to its page. */
async function visit(url: string) {
  const browser = await launchBrowser()
  onTestFinished(() => browser.close())
  const tab = await browser.newPage()
  const complaints: string[] = []
  tab.on('pageerror', (error) => complaints.push(String(error)))
  onTestFinished(() => expect(complaints).toEqual([]))
  // React chooses its development build by this, and only that has the strict mode.
  const globals = `globalThis.process = { env: { NODE_ENV: 'development' } }; token = ${JSON.stringify(ADMIN_TOKEN)}`
  const body = `<div id="root"></div><script>${globals}</script><script type="module" src="/hook.js"></script>`
  await tab.route('**/hook.html', (route) => route.fulfill({ contentType: 'text/html', body }))
  await tab.route('**/hook.js', (route) => route.fulfill({ contentType: 'text/javascript', body: script }))
  await tab.goto(`${url}/hook.html`)
  const act = (verb: keyof Page, ...args: readonly (string | null)[]) =>
    tab.evaluate(
      ([name, given]) =>
        (globalThis as unknown as { page: Record<string, (...args: unknown[]) => unknown> }).page[name]?.(
          ...given,
        ),
      [verb, args] as const,
    )
  const shows = (text: string) => eventually(async () => expect(await tab.textContent('output')).toBe(text))
  return { act, shows }
}

test('useJob shows a job from its first state to its result, through a lost connection, and lets go of it', async () => {
  const world = await startWorld('sqlite')
  const steps = { start: new Gate(), go: new Gate(), end: new Gate() }
  await world.work({
    async export_rows({ payload }, { progress }) {
      if ((payload as { table: string }).table === 'gone') throw new TypeError('no such table')
      await steps.start.opened
      progress({ rows: 7, since: '2025-03-01T00:00:00.000Z' })
      await steps.go.opened
      progress({ rows: 9, since: '2025-03-01T00:00:00.000Z' })
      await steps.end.opened
      return { finishedAt: '2026-01-08T00:00:00.000Z' }
    },
  })
  const { jobs } = createClient({ url: world.url, token: ADMIN_TOKEN })
  const enqueue = (table: string) => jobs.enqueue('export_rows', { table }, { maxRetries: 0 })
  const cable = await Cable.to(world.url)
  const { act, shows } = await visit(cable.url)

  await act('show', null)
  await shows('idle')
  const id = await enqueue('orders')
  const open = (count: number) => eventually(() => expect(world.services.live.states.size).toBe(count))
  for (const shown of [id, await enqueue('others'), id, null, id]) await act('show', shown)
  await shows('live, processing')
  await open(1)
  steps.start.open()
  await shows('live, processing, 7 rows since 2025')

  cable.cut()
  await shows('reconnecting, processing, 7 rows since 2025, NETWORK_ERROR')
  cable.mend()
  await shows('live, processing, 7 rows since 2025')
  await open(1)
  steps.go.open()
  await shows('live, processing, 9 rows since 2025')

  expect(await act('isWatching')).toBe(true)
  await act('leave')
  await shows('left')
  expect(await act('isWatching')).toBe(false)
  await open(0)

  await act('show', id)
  steps.end.open()
  await shows('done, completed, 9 rows since 2025, finished in 2026')
  await open(0)

  await act('show', await enqueue('gone'))
  await shows('error, failed, JOB_FAILED')
  await act('show', '01900000-0000-7000-8000-000000000000')
  await shows('error, JOB_NOT_FOUND')
})
