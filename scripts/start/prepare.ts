import { spawn } from 'node:child_process'
import { access, constants } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { OncueError } from '@oncue/core'
import { step } from './progress.ts'
import { ROOT } from './root.ts'

const LAST_LINES = 30

/** The Prisma clients, without which none of our packages can be imported. */
export async function generateClients(signal: AbortSignal): Promise<void> {
  await assertWritableFolder(ROOT)
  await step('Generating the database clients', () => runTask('generate', '@oncue/prisma', signal))
}

/** The app's web build. */
export async function buildApp(signal: AbortSignal): Promise<void> {
  await step('Building the app (about 1 min if it has changed)', () =>
    runTask('export:web', '@oncue/mobile', signal, 'Or start without the app: --no-app'),
  )
}

/** Turbo would report it, too, but at length. */
export async function assertWritableFolder(folder: string): Promise<void> {
  await access(folder, constants.W_OK).catch((cause: NodeJS.ErrnoException) => {
    throw new OncueError('INVALID_INPUT', `Cannot write in ${folder}: ${cause.code}`, {
      cause,
      hint: 'Clone the repository into a folder that you can write to, and start it there.',
    })
  })
}

/** Turbo knows the inputs of a task, and runs it only when they have changed. */
async function runTask(task: string, filter: string, signal: AbortSignal, advice = ''): Promise<void> {
  const turbo = createRequire(join(ROOT, 'package.json')).resolve('turbo/bin/turbo')
  const args = [turbo, 'run', task, `--filter=${filter}`, '--output-logs=new-only', '--no-color']
  const child = spawn(process.execPath, args, { cwd: ROOT, signal, stdio: ['ignore', 'pipe', 'pipe'] })
  const output: string[] = []
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => output.push(text))
  }
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once('error', reject).once('close', resolve)
  })
  if (code === 0) return
  const end = output.join('').trimEnd().split('\n').slice(-LAST_LINES).join('\n')
  throw new OncueError('INTERNAL', `${filter} could not ${task}:\n\n${end}\n`, {
    hint: `To see only this step: npx -y pnpm@12.18.0 --filter ${filter} ${task}\n${advice}`.trimEnd(),
  })
}
