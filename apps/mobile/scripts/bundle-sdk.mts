import { join } from 'node:path'
import { rolldown } from 'rolldown'

/**
 * Metro takes whole modules: with the client came all of Zod, tRPC's server and every shape of the API, a fifth of
 * what a browser loads. Here only what is used is kept. metro.config.js takes this file for what is released.
 */
const HOME = join(import.meta.dirname, '..')

const build = await rolldown({
  cwd: HOME,
  input: join(HOME, '../../packages/sdk/src/index.ts'),
  platform: 'neutral',
  resolve: { mainFields: ['module', 'main'] },
})
await build.write({ file: join(HOME, 'node_modules/.cache/oncue/sdk.js'), format: 'esm' })
await build.close()
