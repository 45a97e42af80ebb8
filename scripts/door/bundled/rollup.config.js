import commonjs from '@rollup/plugin-commonjs'
import json from '@rollup/plugin-json'
import { nodeResolve } from '@rollup/plugin-node-resolve'

export default {
  input: ['service.js', 'jobs.js'],
  external: ['better-sqlite3', 'pg-native'],
  plugins: [nodeResolve({ exportConditions: ['node'], preferBuiltins: true }), commonjs(), json()],
  output: [
    { dir: 'out/rollup-esm', format: 'es', entryFileNames: '[name].mjs', chunkFileNames: '[name].mjs' },
    { dir: 'out/rollup-cjs', format: 'cjs', entryFileNames: '[name].cjs', chunkFileNames: '[name].cjs' },
  ],
}
