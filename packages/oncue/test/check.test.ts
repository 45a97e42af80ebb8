import { copyFile, mkdir, symlink, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { transactionHosts } from '@oncue/db/testing/transactions'
import { createFolder } from '@oncue/testing'
import { createTestWorker } from '@oncue/worker/testing'
import { expect, test } from 'vitest'
import { namesIn } from '../src/code-names.ts'
import { workers } from './check/before.ts'
import { type Bench, call, describeBoth } from './harness.ts'

const moduleOf = (name: string) => fileURLToPath(new URL(`./check/${name}.ts`, import.meta.url))

/** An order of the release that runs: it has come to its sleep. */
async function waiting(bench: Bench) {
  const dialect = bench.store.dialect
  const host = transactionHosts.find((each) => each.dialect === dialect) as (typeof transactionHosts)[number]
  const service = await host.open(bench.url)
  const { transactions } = service
  const worker = await createTestWorker({ workers, url: bench.url, transactions })
  const id = await worker.enqueue('order' as never, { cents: 5 } as never)
  await worker.drain()
  await worker.store.durable.signal({ id, name: 'bank', data: '{"ok":true}' })
  await worker.drain()
  await worker.store.durable.answer({ id, name: 'approve', value: '{"ok":true}', by: 'ada' })
  await worker.drain()
  expect((await worker.store.get(id))?.waits?.for).toMatchObject([{ kind: 'timer', name: 'before mail' }])
  const close = () => Promise.all([worker.close(), service.close()])
  return { id, close, at: ['--against', bench.url, '--schema', worker.store.schema] }
}

describeBoth('check', (bench) => {
  test('finds nothing in the code that runs: constants, templates, items, children, imported modules', async () => {
    const { close, at } = await waiting(bench)
    try {
      const { code, stdout } = await call('check', ...at, '--import', moduleOf('before'))
      expect({ code, stdout }).toEqual({ code: 0, stdout: '1 durable job checked: everything fits\n' })
    } finally {
      await close()
    }
  })

  test('lists what another release would lose, and what no longer fits it', async () => {
    const { id, close, at } = await waiting(bench)
    try {
      const { code, stdout } = await call('check', ...at, '--import', moduleOf('after'), '--json')
      expect(code).toBe(1)
      const { fits, lost, unfit, unsure } = JSON.parse(stdout)
      expect({ fits, unsure }).toEqual({ fits: false, unsure: [] })
      const names = lost.map(({ kind, name }: { kind: string; name: string }) => `${kind} ${name}`)
      expect(names.toSorted()).toEqual([
        'ask approve',
        'since fraud check',
        'sleep before mail',
        'spawn child#1',
        'spawn second',
        'step book',
        'step render[0]',
        'step render[1]',
        'step search 1',
        'step search 2',
        'undo refund',
      ])
      expect(lost[0]).toMatchObject({ topic: 'order', jobs: 1, job: id })
      expect(unfit.map(({ problem }: { problem: string }) => problem).toSorted()).toEqual([
        expect.stringContaining('payload.amount'),
        expect.stringContaining('signal.paid'),
      ])
      const said = (await call('check', ...at, '--import', moduleOf('after'))).stdout
      expect(said).toContain(`order: step "search 1" of 1 job, such as ${id}, is not in the code`)
      expect(said).toContain('1 durable job checked: 11 lost, 2 no longer fit')
    } finally {
      await close()
    }
  })

  test('says what it cannot tell, because the code computes a name', async () => {
    const { close, at } = await waiting(bench)
    try {
      const { stdout } = await call('check', ...at, '--import', moduleOf('computed'), '--json')
      const { unsure, computed, lost } = JSON.parse(stdout)
      expect(unsure.map(({ name }: { name: string }) => name)).toContain('search 1')
      expect(lost.map(({ kind }: { kind: string }) => kind)).not.toContain('step')
      expect(computed).toEqual([expect.stringMatching(/check\/tools\.ts:\d+$/)])
    } finally {
      await close()
    }
  })
})

test('needs the database itself, and says so of the address of an API', async () => {
  const { code, stderr } = await call(
    'check',
    '--against',
    'https://oncue.example.com',
    '--import',
    moduleOf('before'),
  )
  expect(code).not.toBe(0)
  expect(stderr).toContain('Not a database URL: "https://oncue.example.com"')
  expect(stderr).toContain('That is the address of an API: pass the URL of its database')
})

test('needs TypeScript in the project, and says so', async () => {
  const folder = await createFolder()
  try {
    const file = join(folder.path, 'jobs.ts')
    await copyFile(moduleOf('before'), file)
    const reading = namesIn([pathToFileURL(file).href], folder.path)
    await expect(reading).rejects.toMatchObject({
      code: 'INVALID_MODULE',
      message: expect.stringContaining('with TypeScript'),
      hint: expect.stringContaining('npm install --save-dev typescript@6'),
    })
  } finally {
    await folder.remove()
  }
})

// `npm install typescript` gets TypeScript 7, whose main module has the version and nothing else.
async function besideTypeScript7() {
  const folder = await createFolder()
  const modules = join(folder.path, 'node_modules')
  await mkdir(join(modules, 'typescript'), { recursive: true })
  await writeFile(join(modules, 'typescript/index.js'), "module.exports = { version: '7.0.2' }")
  const file = join(folder.path, 'jobs.ts')
  await copyFile(moduleOf('before'), file)
  return { folder, modules, names: () => namesIn([pathToFileURL(file).href], folder.path) }
}

test('says what to add to a TypeScript without functions', async () => {
  const { folder, names } = await besideTypeScript7()
  try {
    await expect(names()).rejects.toMatchObject({
      code: 'INVALID_MODULE',
      message: expect.stringContaining('7.0.2'),
      hint: expect.stringContaining('npm install --save-dev @typescript/typescript6'),
    })
  } finally {
    await folder.remove()
  }
})

test('reads names with the functions beside such a TypeScript', async () => {
  const { folder, modules, names } = await besideTypeScript7()
  try {
    const compiler = dirname(createRequire(import.meta.url).resolve('typescript/package.json'))
    await mkdir(join(modules, '@typescript'))
    await symlink(compiler, join(modules, '@typescript/typescript6'))
    expect(await names()).toContainEqual(expect.objectContaining({ kind: 'ask', parts: ['approve'] }))
  } finally {
    await folder.remove()
  }
})
