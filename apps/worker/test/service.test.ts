import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { observeFor } from '@oncue/testing'
import { afterEach, beforeEach, expect, it, test } from 'vitest'
import { readConfig } from '../src/config.ts'
import { defaultService } from '../src/service.ts'
import { VERSION } from '../src/version.ts'
import { describeBoth, Gate, someJobs } from './harness.ts'

let folder: string
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'oncue-service-'))
})
afterEach(() => rm(folder, { recursive: true }))

test('a service has the name of the nearest package that has one', async () => {
  const inner = join(folder, 'dist/server')
  await mkdir(inner, { recursive: true })
  await writeFile(join(folder, 'package.json'), '{"name":"@acme/billing"}')
  expect(defaultService(inner)).toBe('@acme/billing')
  await writeFile(join(folder, 'dist/package.json'), '{"type":"module"}')
  expect(defaultService(inner)).toBe('@acme/billing')
  await writeFile(join(folder, 'dist/package.json'), '{"name":"reports"}')
  expect(defaultService(inner)).toBe('reports')
  await writeFile(join(inner, 'package.json'), 'not json')
  expect(defaultService(inner)).toBe('reports')
})

test('a service without a package has the name default', () => {
  expect(defaultService(folder)).toBe('default')
})

test('ONCUE_SERVICE names it, and a wrong name is refused', () => {
  expect(readConfig({}).service).toBeUndefined()
  expect(readConfig({ ONCUE_SERVICE: '@acme/billing' }).service).toBe('@acme/billing')
  expect(() => readConfig({ ONCUE_SERVICE: 'two words' })).toThrow(
    'ONCUE_SERVICE=two words must be 1 to 128 letters, digits and _ . - / @',
  )
})

test('ONCUE_VERSION names its release, and a wrong one is refused', () => {
  expect(readConfig({}).version).toBeUndefined()
  expect(readConfig({ ONCUE_VERSION: ' 2026.11.18 (b173c1c) ' }).version).toBe('2026.11.18 (b173c1c)')
  for (const wrong of ['a'.repeat(65), 'two\nlines', ' ', 'a\u200bb']) {
    expect(() => readConfig({ ONCUE_VERSION: wrong })).toThrow('must be 1 to 64 printable characters')
  }
})

describeBoth('a worker', (bench) => {
  const workers = { hello: () => 'hello' }

  it('is listed with the version of its code, or with that of Oncue', async () => {
    const store = await bench.open()
    const own = await bench.start({ store, workers, version: 'b173c1c' })
    const unnamed = await bench.start({ store, workers })
    const listed = new Map((await store.workers()).map(({ id, version }) => [id, version]))
    expect(listed).toEqual(
      new Map([
        [own.id, 'b173c1c'],
        [unnamed.id, VERSION],
      ]),
    )
    await own.stop()
    const ended = (await store.workers({ ended: true })).find(({ id }) => id === own.id)
    expect(ended?.version).toBe('b173c1c')
  })

  it('claims nothing before it has started, though it is woken', async () => {
    const store = await bench.open()
    const [id = ''] = await store.enqueue(someJobs(1, 'hello'))
    const [subscribed, mayStart] = [new Gate(), new Gate()]
    const onWake = store.onWake.bind(store)
    Object.assign(store, {
      async onWake(queues: readonly string[], wake: () => void) {
        const subscription = await onWake(queues, wake)
        wake()
        subscribed.open()
        await mayStart.opened
        return subscription
      },
    })
    const starting = bench.start({ store, workers })
    await subscribed.opened
    await observeFor(100, async () =>
      expect(await store.get(id)).toMatchObject({ status: 'pending', run: 0 }),
    )
    mayStart.open()
    await (await starting).drain()
    expect(await store.get(id)).toMatchObject({ status: 'completed' })
  })

  it('does not start with a version that cannot be shown', async () => {
    const store = await bench.open()
    const starting = bench.start({ store, workers, version: 'a'.repeat(65) })
    await expect(starting).rejects.toThrow('options.version: must be 1 to 64 printable characters')
  })
})
