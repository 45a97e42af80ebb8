import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { createClient } from '@oncue/sdk'
import { eventually } from '@oncue/testing'
import { Launched } from '../launched.ts'

/** Generous: a machine that does other things compiles slowly. */
const START_MS = 120_000
const END_MS = 30_000

/** A command that serves, and what it serves. */
export class Running {
  readonly #launched: Launched

  constructor(command: string, args: readonly string[], cwd: string, env: Readonly<Record<string, string>>) {
    this.#launched = new Launched(command, args, { cwd, env })
  }

  get output(): string {
    return this.#launched.output
  }

  /** Kills what is left if it does not say so in time. */
  async says(pattern: RegExp): Promise<void> {
    await this.#within(START_MS, `did not say ${pattern}`, this.#launched.says(pattern))
  }

  /** Signals its group, as a terminal does, and waits until no process of it is left. */
  async end(signal: NodeJS.Signals): Promise<void> {
    this.#launched.signal(signal)
    await this.#within(END_MS, `did not end after ${signal}`, this.#launched.ends())
    // Next.js has one that ends by itself.
    await eventually(() => {
      const left = this.#launched.left()
      if (left.length > 0) throw new Error(`${signal} left processes behind: ${left.join(', ')}`)
    }, END_MS)
  }

  /** For a check that failed. */
  kill(): void {
    this.#launched.signal('SIGKILL')
  }

  async #within(ms: number, otherwise: string, done: Promise<unknown>): Promise<void> {
    const late = new AbortController()
    const cut = sleep(ms, undefined, { signal: late.signal }).then(() => {
      this.kill()
      throw new Error(`it ${otherwise} within ${ms / 1_000} s:\n${this.output}`)
    })
    cut.catch(() => {})
    await Promise.race([done, cut]).finally(() => late.abort())
  }
}

/** Ends it also if the work fails. */
export async function running<T>(server: Running, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    server.kill()
    throw new Error(`${error instanceof Error ? error.message : error}\n${server.output}`)
  }
}

/** For servers that take 0 for their default. */
export async function freePort(): Promise<string> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return String(port)
}

/** The id of the job that a server of ours has enqueued. */
export async function postJob(url: string, body: object): Promise<string> {
  const headers = { 'content-type': 'application/json' }
  const response = await fetch(url, { method: 'POST', headers, body: JSON.stringify(body) })
  const text = await response.text()
  if (response.status !== 202) throw new Error(`POST ${url}: ${response.status} ${text}`)
  return (JSON.parse(text) as { jobId: string }).jobId
}

/** Oncue below a path of a server. */
export interface Mounted {
  readonly url: string
  /** Of someone who may do everything. */
  readonly headers: Readonly<Record<string, string>>
}

/** Nothing is there for strangers. */
export async function refuses({ url }: Mounted): Promise<void> {
  for (const path of ['', '/api/jobs', '/trpc/jobs.list', '/docs']) {
    const { status } = await fetch(`${url}${path}`, { redirect: 'manual' })
    if (status !== 401) throw new Error(`${url}${path} answers a stranger with ${status}`)
  }
}

/** The app's page and its scripts. */
export async function showsApp({ url, headers }: Mounted): Promise<void> {
  const { pathname, origin } = new URL(url)
  const page = await fetch(url, { headers })
  const html = await page.text()
  if (page.status !== 200 || !html.includes(`data-base="${pathname}"`))
    throw new Error(`${url}: expected the app, got ${page.status} ${html.slice(0, 300)}`)
  const scripts = [...html.matchAll(/<script[^>]* src="([^"]+)"/g)].map(([, path = '']) => path)
  if (scripts.length === 0) throw new Error(`${url} has no scripts`)
  for (const path of [...scripts, `${pathname}/docs/static/swagger-ui.css`]) {
    const { status } = await fetch(`${origin}${path}`, { headers })
    if (status !== 200) throw new Error(`${origin}${path}: ${status}`)
  }
}

/** Enqueues through the mounted API, and follows the job in its stream to its end. */
export async function runsJob(mounted: Mounted, topic: string, payload: object): Promise<void> {
  const id = await clientOf(mounted).jobs.enqueue(topic, payload)
  await completes(mounted, id)
}

/** Follows a job in its stream to its end. */
export async function completes(mounted: Mounted, id: string): Promise<void> {
  const seen: string[] = []
  for await (const message of clientOf(mounted).jobs.watch(id))
    if (message.type === 'state') seen.push(message.state.status)
  if (seen.at(-1) !== 'completed') throw new Error(`the job ended otherwise: ${seen.join(', ')}`)
}

/** Has a stream open when the server ends: it ends, too. */
export async function endsWithStream(
  server: Running,
  mounted: Mounted,
  signal: NodeJS.Signals,
): Promise<void> {
  const { url, headers } = mounted
  const response = await fetch(`${url}/trpc/health.watch`, { headers })
  const type = response.headers.get('content-type')
  if (!type?.startsWith('text/event-stream')) throw new Error(`not a stream: ${response.status} ${type}`)
  const reader = response.body?.getReader()
  await reader?.read()
  const drained = (async () => {
    while (!(await reader?.read())?.done);
  })().catch(() => {})
  await server.end(signal)
  await drained
}

function clientOf({ url, headers }: Mounted) {
  // A program says from which page it comes, as a browser does.
  return createClient({ url, headers: { ...headers, origin: new URL(url).origin } })
}
