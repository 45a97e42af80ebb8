import { execFile } from 'node:child_process'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { pack } from '../release/packages.ts'
import { install, versionsOf } from '../release/project.ts'
import { ROOT } from '../start/root.ts'

const run = promisify(execFile)

const PROGRAM = `
import { createClient } from '@oncue/sdk'

const [url, token] = process.argv.slice(2)
const oncue = createClient({ url, token })
const id = await oncue.jobs.enqueue('mail_digest', { userId: '123' })
const result = await oncue.jobs.wait(id, { timeoutMs: 60_000 })
const { status } = await oncue.jobs.get(id)
process.stdout.write(\`\${status} \${JSON.stringify(result)}\`)
`

/** An empty project, outside of the workspace, with the SDK as it would be published. */
export async function installClient(folder: string): Promise<void> {
  await mkdir(folder)
  await run('pnpm', ['exec', 'turbo', 'run', 'build', '--filter=@oncue/sdk'], { cwd: ROOT })
  const { tarball } = await pack(join(ROOT, 'packages/sdk'), folder)
  await install(folder, { '@oncue/sdk': `file:${tarball}`, ...(await versionsOf(['zod'])) })
  await writeFile(join(folder, 'program.js'), PROGRAM)
}

/** Enqueues a job, and waits for it. */
export async function useClient(folder: string, url: string, token: string): Promise<void> {
  const { stdout } = await run(process.execPath, ['program.js', url, token], { cwd: folder })
  if (stdout !== 'completed {"sent":3}') throw new Error(`the job ended otherwise: ${stdout}`)
}
