import { request as httpRequest } from 'node:http'
import { encodeDates } from '@oncue/core/wire'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ROUTES } from '../src/http/rest/routes.ts'
import { fieldsOf, replaced, TRICKS } from './bad-input-cases.ts'
import { callOf, routeCallOf } from './calls.ts'
import { DIALECTS } from './harness.ts'
import { PEOPLE, type Person, PROCEDURES, World } from './test-server.ts'

/** Makes the requests reproducible; another start value gives others. */
const START = 20_260_108
const REQUESTS = 600

/** Mulberry32. */
function randomFrom(start: number): () => number {
  let state = start
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

interface Sent {
  readonly method: string
  readonly path: string
  readonly headers: Record<string, string>
  readonly body: string | undefined
}

class Fuzzer {
  readonly #random: () => number
  readonly #world: World

  constructor(world: World, start: number) {
    this.#world = world
    this.#random = randomFrom(start)
  }

  chance(share: number): boolean {
    return this.#random() < share
  }

  below(count: number): number {
    return Math.floor(this.#random() * count)
  }

  one<Item>(items: readonly Item[]): Item {
    return items[this.below(items.length)] as Item
  }

  value(depth = 0): unknown {
    const inner = () => this.value(depth + 1)
    const kinds: (() => unknown)[] = [
      () => this.one([null, true, false, 0, -1, 0.5, 1e9, 1e308, -1e308, 2 ** 53, -0]),
      () => this.one(TRICKS).slice(0, 300),
      () =>
        this.one([
          '',
          ' ',
          'mail',
          'default',
          '__proto__',
          'constructor',
          '2026-01-08T12:00:00Z',
          '9999999999',
        ]),
      () => '\u{1f389}'.repeat(this.below(50)),
    ]
    if (depth < 4) {
      kinds.push(() => Array.from({ length: this.below(4) }, inner))
      kinds.push(() =>
        Object.fromEntries(
          Array.from({ length: this.below(4) }, () => [
            this.one(['a', 'id', 'queue', 'filter', '__proto__', '']),
            inner(),
          ]),
        ),
      )
    }
    return this.one(kinds)()
  }

  /** A valid input with one or two fields changed. */
  changed(input: unknown): unknown {
    let changed = input
    for (let n = this.below(3); n > 0; n--) {
      const fields = fieldsOf(changed)
      if (fields.length === 0) return this.value()
      const value = this.chance(0.2) ? undefined : this.value()
      changed = replaced(changed, this.one(fields).path, value)
    }
    return this.chance(0.05) ? this.value() : changed
  }

  /** A damaged JSON text. */
  torn(text: string): string {
    if (this.chance(0.9)) return text
    const at = this.below(text.length + 1)
    return (
      text.slice(0, at) +
      this.one(['', '}', '"', '\\u0000', '\u2028', '{"json":']) +
      text.slice(at + this.below(3))
    )
  }

  headers(): Record<string, string> {
    const as: Person = this.chance(0.6)
      ? 'admin'
      : this.one([...PEOPLE, 'narrow', 'expired', 'nobody', 'wrong'] as const)
    const token = this.#world.tokenOf(as)
    return {
      ...(token !== undefined && { authorization: `Bearer ${token}` }),
      'content-type': this.one([
        ...Array(9).fill('application/json'),
        'text/plain',
        'x',
        'multipart/form-data; boundary=x',
      ]),
      ...(this.chance(0.1) && { cookie: this.one(['oncue_session=', 'oncue_session=x; =;;', ';', 'a=b=c']) }),
      ...(this.chance(0.1) && {
        authorization: this.one(['Bearer', 'Bearer  ', 'Basic x', 'Bearer eyJ.x.y']),
      }),
      ...(this.chance(0.1) && { origin: this.one(['null', 'https://evil.example', 'x', 'http://']) }),
      ...(this.chance(0.1) && { 'x-forwarded-for': this.one(['x', '::1', '1.2.3.4, 5.6.7.8', ',']) }),
      ...(this.chance(0.1) && { 'x-request-id': this.one(['x', '{}', 'a'.repeat(200)]) }),
      ...(this.chance(0.1) && { 'idempotency-key': this.one(['k', '', 'x'.repeat(300)]) }),
      ...(this.chance(0.1) && { accept: this.one(['application/jsonl', 'text/html', '*/*']) }),
      ...(this.chance(0.05) && { 'trpc-accept': 'application/jsonl' }),
    }
  }

  async procedure(): Promise<Sent> {
    const names = Array.from({ length: this.chance(0.1) ? 1 + this.below(3) : 1 }, () => this.one(CALLABLE))
    const inputs = await Promise.all(names.map(async ({ name }) => callOf(name).input(this.#world)))
    const wrapped = inputs.map((input) => {
      const given = this.changed(input)
      const { json, meta } = encodeDates(given)
      return {
        json,
        meta: this.chance(0.1) ? this.value() : this.chance(0.05) ? { values: this.value() } : meta,
      }
    })
    const isBatch = names.length > 1 || this.chance(0.05)
    const text = this.torn(JSON.stringify(isBatch ? { ...wrapped } : wrapped[0]))
    const path = names.map(({ name }) => name).join(this.one([',', ',', '%2C']))
    const isRight = this.chance(0.95)
    const method = names[0]?.type === 'mutation' ? 'POST' : 'GET'
    return this.sent(
      isRight ? method : this.one(METHODS),
      `/trpc/${path}`,
      isBatch ? { batch: '1' } : {},
      text,
    )
  }

  async route(): Promise<Sent> {
    const { method, path } = this.one(ROUTES)
    const call = routeCallOf({ method, path })
    const at = this.chance(0.8)
      ? ((await call.path?.(this.#world)) ?? path)
      : path.replace(':id', encodeURIComponent(this.one(PATHS).slice(0, 300)))
    const query = Object.fromEntries(
      Object.entries(call.query ?? {})
        .filter(() => this.chance(0.5))
        .map(([name, value]) => [name, this.chance(0.7) ? value : String(this.value())]),
    )
    const text = this.torn(JSON.stringify(this.changed(await call.body?.(this.#world)) ?? null))
    const url = Object.keys(query).length > 0 ? `${at}?${new URLSearchParams(query)}` : at
    return this.sent(this.chance(0.95) ? method : this.one(METHODS), url, {}, text)
  }

  /** Requests that no client sends. */
  oddity(): Sent {
    const parts = [
      '/',
      '//',
      '..',
      '%2e%2e',
      '%',
      '%00',
      'trpc',
      '%74rpc',
      'api',
      'jobs',
      'session',
      'docs',
      '?',
      '#',
      ';',
      ',',
      '\\',
      '[',
      'x:y@',
    ]
    const path = `/${Array.from({ length: this.below(6) }, () => this.one(parts)).join(this.one(['', '/']))}`
    return this.sent(this.one(METHODS), path, {}, this.torn(JSON.stringify(this.value())))
  }

  private sent(method: string, path: string, query: Record<string, string>, text: string): Sent {
    const hasBody = method !== 'GET' && method !== 'HEAD'
    const all = { ...query, ...(!hasBody && path.startsWith('/trpc/') && { input: text }) }
    const search = Object.keys(all).length > 0 ? `?${new URLSearchParams(all)}` : ''
    return { method, path: path + search, headers: this.headers(), body: hasBody ? text : undefined }
  }
}

/** A lone surrogate cannot be written in a path. */
const PATHS = TRICKS.filter((text) => text !== '\ud800')
const METHODS = ['GET', 'POST', 'DELETE', 'PUT', 'PATCH', 'HEAD', 'OPTIONS']
/** Without streams and waits, which last as long as a client listens; they have their own tests. */
const CALLABLE = PROCEDURES.filter(({ name, type }) => type !== 'subscription' && name !== 'jobs.wait')

/** Sends the path unchanged; `fetch` would normalise it. */
function send(url: string, { method, path, headers, body }: Sent): Promise<number> {
  const { hostname, port } = new URL(url)
  return new Promise((resolve, reject) => {
    const length = body === undefined ? {} : { 'content-length': Buffer.byteLength(body) }
    const request = httpRequest({
      hostname,
      port,
      method,
      path,
      headers: { ...headers, ...length },
      agent: false,
    })
    request.on('response', (response) => {
      response.resume()
      response.on('end', () => resolve(response.statusCode ?? 0))
      response.on('error', reject)
    })
    request.on('error', reject)
    request.end(body)
  })
}

describe.each(DIALECTS)('random requests, on %s', { timeout: 240_000 }, (dialect) => {
  let world: World
  beforeAll(async () => {
    world = await World.open(dialect)
  })
  afterAll(() => world.close())

  test.each(['procedure', 'route', 'oddity'] as const)('cause no server error: %s', async (kind) => {
    const fuzzer = new Fuzzer(world, START)
    const seen = new Map<number, number>()
    for (let n = 0; n < REQUESTS; n++) {
      const sent = await fuzzer[kind]()
      const status = await send(world.url, sent)
      expect(status, `request ${n}: ${JSON.stringify(sent)}`).toBeLessThan(500)
      expect(world.faults, `request ${n}: ${JSON.stringify(sent)}`).toEqual([])
      seen.set(status, (seen.get(status) ?? 0) + 1)
    }
    // Many of them passed validation.
    if (kind !== 'oddity') expect(seen.get(200) ?? 0).toBeGreaterThan(REQUESTS / 50)
    expect((await world.send('GET', '/trpc/tokens.me')).status).toBe(200)
  })
})
