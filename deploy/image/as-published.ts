import { readFileSync, writeFileSync } from 'node:fs'

// In the image alone: packages then offer what was compiled, as they do on npm. `pnpm deploy` leaves publishConfig out.
for (const folder of [
  'packages/core',
  'packages/runtime',
  'packages/logger',
  'packages/db',
  'apps/worker',
  'apps/api',
  'packages/oncue',
]) {
  const path = new URL(`../../${folder}/package.json`, import.meta.url)
  const { publishConfig, ...manifest } = JSON.parse(readFileSync(path, 'utf8'))
  writeFileSync(path, JSON.stringify({ ...manifest, ...publishConfig }, null, 2))
}
