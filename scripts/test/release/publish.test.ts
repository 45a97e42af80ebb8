import { once } from 'node:events'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { json } from 'node:stream/consumers'
import { expect, it, onTestFinished } from 'vitest'
import { type Packed, pack } from '../../release/packages.ts'
import { publish } from '../../release/publish.ts'

type Document = { readonly name: string; readonly versions: Record<string, unknown> }

/** The parts of a registry that publishing needs. */
async function startRegistry() {
  const documents = new Map<string, Document>()
  const names: string[] = []
  const server = createServer(async (request, response) => {
    const name = decodeURIComponent((request.url ?? '').slice(1))
    if (request.method === 'PUT') {
      documents.set(name, (await json(request)) as Document)
      names.push(name)
    }
    const document = documents.get(name)
    response.writeHead(document ? 200 : 404, { 'content-type': 'application/json' })
    response.end(JSON.stringify(document ?? { error: 'Not found' }))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  const host = `//127.0.0.1:${(server.address() as AddressInfo).port}/`
  return { names, args: [`--registry=http:${host}`, `--config.${host}:_authToken=secret`] }
}

async function makePackages(version: string): Promise<Packed[]> {
  const folder = await mkdtemp(join(tmpdir(), 'oncue-publish-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  const packages: Packed[] = []
  for (const name of ['first', 'second']) {
    const home = join(folder, name)
    await mkdir(home)
    await writeFile(join(home, 'package.json'), JSON.stringify({ name: `@made-up/${name}`, version }))
    packages.push(await pack(home, folder))
  }
  return packages
}

function listen() {
  const lines: string[] = []
  return { lines, say: (line: string) => void lines.push(line) }
}

it('a dry run prints what would be published, and publishes nothing', async () => {
  const { names, args } = await startRegistry()
  const { lines, say } = listen()
  await publish(await makePackages('0.0.0'), { isTrial: true, say, args })
  expect(lines).toEqual([
    '@made-up/first@0.0.0 would be published',
    '@made-up/second@0.0.0 would be published',
  ])
  expect(names).toEqual([])
})

it('packages are published in their order, and existing versions are not published again', async () => {
  const { names, args } = await startRegistry()
  const packages = await makePackages('1.0.0')
  await publish(packages.slice(0, 1), { isTrial: false, say: () => {}, args })
  const { lines, say } = listen()
  await publish(packages, { isTrial: false, say, args })
  expect(lines).toEqual(['@made-up/first@1.0.0 is published already', '@made-up/second@1.0.0 is published'])
  expect(names).toEqual(['@made-up/first', '@made-up/second'])
})

it('packages without a version yet are not published', async () => {
  const { names, args } = await startRegistry()
  const publishing = publish(await makePackages('0.0.0'), { isTrial: false, say: () => {}, args })
  await expect(publishing).rejects.toThrow('changeset version')
  expect(names).toEqual([])
})
