import { resolve } from 'node:path'

const shared = {
  mode: 'production',
  target: 'node22',
  entry: { service: './service.js', jobs: './jobs.js' },
  // pg loads it only when it is asked for; as an external package a module would import it at once.
  resolve: { alias: { 'pg-native': false } },
}
const output = (name) => ({
  path: resolve(`out/webpack-${name}`),
  filename: `[name].${name === 'esm' ? 'mjs' : 'cjs'}`,
})

export default [
  {
    ...shared,
    output: { ...output('esm'), module: true, chunkFormat: 'module', library: { type: 'module' } },
    experiments: { outputModule: true },
    externals: { 'better-sqlite3': 'module better-sqlite3' },
  },
  {
    ...shared,
    output: { ...output('cjs'), chunkFilename: '[name].cjs', library: { type: 'commonjs2' } },
    externals: { 'better-sqlite3': 'commonjs better-sqlite3' },
  },
]
