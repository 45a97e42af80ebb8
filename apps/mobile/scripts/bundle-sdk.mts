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
  for await (const file of glob('src/**/*.{ts,tsx}', { cwd: HOME, exclude: ['**/*.test.*', 'src/testing/**'] })) {
    const source = await readFile(join(HOME, file), 'utf8')
    for (const [, list = ''] of source.matchAll(/^import \{([^}]*)\} from '@oncue\/sdk'/gm))
      for (const name of list.split(',').map((each) => each.trim()))
        if (name !== '' && !name.startsWith('type ')) names.add(name)
  }
  return [...names].sort()
}

/** The app enqueues nothing, so it needs none of the schemas that a new job is checked by. */
const withoutEnqueue: Plugin = {
  name: 'without-enqueue',
  load: (id) =>
    id.endsWith('/sdk/src/requests.ts')
      ? `export function toRequest() { throw new Error('The app enqueues nothing') }`
      : null,
}

const names = await usedNames()
const build = await rolldown({
  cwd: HOME,
  input: 'used',
  platform: 'neutral',
  resolve: { mainFields: ['module', 'main'] },
  // Nothing in it does anything by being imported: they are definitions.
  treeshake: { moduleSideEffects: false },
  plugins: [
    {
      name: 'used',
      resolveId: (id) => (id === 'used' ? id : null),
      load: (id) => (id === 'used' ? `export { ${names.join(', ')} } from ${JSON.stringify(SDK)}` : null),
    },
    withoutEnqueue,
  ],
})
await build.write({ file: join(HOME, 'node_modules/.cache/oncue/sdk.js'), format: 'esm' })
await build.close()
