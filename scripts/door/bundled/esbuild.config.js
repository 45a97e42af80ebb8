import { build } from 'esbuild'

const shared = {
  entryPoints: ['service.js', 'jobs.js'],
  bundle: true,
  platform: 'node',
  external: ['better-sqlite3'],
}
// Packages in CommonJS, such as pg, call `require`, which a module does not have.
const js = `import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);`
await build({
  ...shared,
  format: 'esm',
  outdir: 'out/esbuild-esm',
  outExtension: { '.js': '.mjs' },
  banner: { js },
})
await build({ ...shared, format: 'cjs', outdir: 'out/esbuild-cjs', outExtension: { '.js': '.cjs' } })
