import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { createReadStream } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { basename } from 'node:path'
import type { Packed } from './packages.ts'

export interface Registry {
  readonly url: string
  close(): Promise<void>
}

/**
 * An npm registry on this machine that has the packed packages as if they were published. Everything else is at `upstream`, to
 * which it redirects.
 */
export async function startRegistry(packages: readonly Packed[], upstream: string): Promise<Registry> {
  const documents = new Map<string, (url: string) => unknown>()
  for (const { manifest, tarball } of packages) {
    const { name, version } = manifest
    const hash = createHash('sha512').update(await readFile(tarball))
    const integrity = `sha512-${hash.digest('base64')}`
    documents.set(name, (url) => ({
      ...{ name, 'dist-tags': { latest: version } },
      versions: {
        [version]: { ...manifest, dist: { tarball: `${url}/-/${basename(tarball)}`, integrity } },
      },
    }))
  }
  const files = new Map(packages.map(({ tarball }) => [basename(tarball), tarball]))

  const server = createServer(({ url: path = '' }, response) => {
    const name = decodeURIComponent(path.slice(1))
    const document = documents.get(name)
    const file = files.get(name.replace(/^-\//, ''))
    if (document) {
      response.setHeader('content-type', 'application/json')
      response.end(JSON.stringify(document(url)))
    } else if (file !== undefined) createReadStream(file).pipe(response)
    else response.writeHead(302, { location: `${upstream.replace(/\/+$/, '')}${path}` }).end()
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return {
    url,
    async close() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}
