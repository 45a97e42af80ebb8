import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import type { World } from './world.ts'

const PROGRAM = join(import.meta.dirname, '../../../worker/src/cli/main.ts')

/** A worker in its own process, with the handlers of a module. Returns a function that stops it. */
export function startWorkerProcess(world: World, module: string, queues = 'mail'): () => Promise<void> {
  const worker = spawn(
    process.execPath,
    [PROGRAM, '--import', join(import.meta.dirname, module), '--queues', queues],
    { env: { DATABASE_URL: world.databaseUrl }, stdio: ['ignore', 'ignore', 'inherit'] },
  )
  const ended = once(worker, 'close')
  const stop = async () => {
    worker.kill()
    await ended
  }
  onTestFinished(stop)
  return stop
}
