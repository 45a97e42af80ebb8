/** Builds the app for browsers, and puts it into the package of the API, which serves it. */
import { execFile } from 'node:child_process'
import { cp, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { ROOT } from '../start/root.ts'

const target = join(ROOT, 'apps/api/app')

await promisify(execFile)('pnpm', ['run', 'export:web'], { cwd: join(ROOT, 'apps/mobile') })
await rm(target, { recursive: true, force: true })
await cp(join(ROOT, 'apps/mobile/dist'), target, { recursive: true })
