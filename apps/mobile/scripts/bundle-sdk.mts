import { glob, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type Plugin, rolldown } from 'rolldown'

/**
 * Metro takes whole modules: with the client came all of Zod, tRPC's server and every shape of the API, a quarter of
 * what a browser loads. Here only what the app imports is kept. metro.config.js takes this file for what is released.
 */
const HOME = join(import.meta.dirname, '..')
const SDK = join(HOME, '../../packages/sdk/src/index.ts')

/** What the sources import by name from the SDK, types aside. */
async function usedNames(): Promise<string[]> {
  const names = new Set<string>()
  for await (const file of glob('src/**/*.{ts,tsx}', {
    cwd: HOME,
    exclude: ['**/*.test.*', 'src/testing/**'],
  })) {
    const source = await readFile(join(HOME, file), 'utf8')
    for (const [, list = ''] of source.matchAll(/^import \{([^}]*)\} from '@oncue\/sdk'/gm))
      for (const name of list.split(',').map((each) => each.trim().replace(/ as .*/, '')))
        if (name !== '' && !name.startsWith('type ')) names.add(name)
  }
  return [...names].sort()
}

/**
 * The app has no definitions, and the API checks what is enqueued by hand, so no schema is ever asked. Where they are
 * put together stands something of which all can be said and which does nothing.
 */
const withoutSchemas: Plugin = {
  name: 'without-schemas',
  resolveId: (id) => (id === 'zod' ? id : null),
  load(id) {
    if (id === 'zod') return SILENT_ZOD
    if (id.endsWith('/sdk/src/requests.ts')) return UNCHECKED_REQUEST
    return null
  },
}

const UNCHECKED_REQUEST = `
export function toRequest(_, topic, payload, options) {
  return { request: { ...options, topic, payload }, payloadBytes: JSON.stringify(payload ?? null).length }
}
`

const SILENT_ZOD = `
const said = {
  apply: () => z,
  get: (_, name) => (name === Symbol.iterator ? function* () {} : name === Symbol.toPrimitive ? () => '' : z),
}
export const z = new Proxy(function () {}, said)
`

const names = await usedNames()
const build = await rolldown({
  cwd: HOME,
  input: 'used',
  platform: 'neutral',
  resolve: { mainFields: ['module', 'main'] },
  // Nothing in it does anything by being imported.
  treeshake: { moduleSideEffects: false },
  plugins: [
    {
      name: 'used',
      resolveId: (id) => (id === 'used' ? id : null),
      load: (id) => (id === 'used' ? `export { ${names.join(', ')} } from ${JSON.stringify(SDK)}` : null),
    },
    withoutSchemas,
  ],
})
// The map is for scripts/notices.mts: it says whose files are in it.
await build.write({
  file: join(HOME, 'node_modules/.cache/oncue/sdk.js'),
  format: 'esm',
  sourcemap: 'hidden',
})
await build.close()
