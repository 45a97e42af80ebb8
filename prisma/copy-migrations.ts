/** Part of the build of packages/db: the published package carries a copy of the migrations and functions. */
import { cp, rm } from 'node:fs/promises'
import { dialects } from './schemas.ts'

for (const dialect of dialects) {
  const from = new URL(`./${dialect}/migrations/`, import.meta.url)
  const to = new URL(`../packages/db/migrations/${dialect}/`, import.meta.url)
  await rm(to, { recursive: true, force: true })
  await cp(from, to, { recursive: true })
}
await cp(
  new URL('./postgres/functions.sql', import.meta.url),
  new URL('../packages/db/migrations/postgres/functions.sql', import.meta.url),
)
