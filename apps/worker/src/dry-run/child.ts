import { toRegistry } from '@oncue/core/internal'
import { systemRuntime } from '@oncue/runtime'
import { packError, unpackError } from '../isolate/packed-error.ts'
import { loadModules } from '../run/modules.ts'
import { closeLeaks, closeNetwork } from './closed.ts'
import { dryRun, type Reads } from './dry-run.ts'
import type { FromChild, PackedEnd, Read, ToChild } from './messages.ts'

// A process that repeats handlers, one at a time, with what its parent gives it. It has no environment, and Node lets it
// write no file and start no process or thread. Before any module of the project is loaded, the network is closed.
const [modules = '[]'] = process.argv.slice(2)
closeNetwork()
closeLeaks()

let reads = 0
const reading = new Map<number, { resolve(value: unknown): void; reject(error: unknown): void }>()
let loaded: Awaited<ReturnType<typeof load>> | undefined

process.on('disconnect', () => process.exit())
process.on('uncaughtException', (error) => {
  const end: PackedEnd = { how: 'threw', error: packError(error, ''), missing: [], stopsAt: [] }
  process.send?.({ kind: 'ended', end, isLast: true } satisfies FromChild, undefined, undefined, () =>
    process.exit(1),
  )
})
process.on('message', (message: ToChild) => {
  if (message.kind === 'run') void run(message)
  else {
    const waiting = reading.get(message.read)
    reading.delete(message.read)
    if (message.kind === 'value') waiting?.resolve(message.value)
    else waiting?.reject(unpackError(message.error))
  }
})

load().then(
  (found) => {
    loaded = found
    send({ kind: 'ready' })
  },
  (error) => send({ kind: 'broken', error: packError(error, '') }),
)

/** Not set up: that would open connections. */
async function load() {
  const { workers, middleware } = await loadModules(JSON.parse(modules), process.cwd())
  return { registry: toRegistry(...workers), middleware }
}

async function run({ job, outcomes }: Extract<ToChild, { kind: 'run' }>): Promise<void> {
  const worker = loaded?.registry.get(job.topic)
  if (!loaded || !worker) return
  const end = await dryRun(job, outcomes, worker, {
    ...loaded,
    runtime: systemRuntime,
    reads: { results: (...args) => read('results', args), waitedFor: (...args) => read('waitedFor', args) },
  })
  const { how, missing, stopsAt } = end
  const error = how === 'threw' ? packError(end.error, job.topic) : undefined
  send({ kind: 'ended', end: { how, error, missing, stopsAt } })
}

function read<Method extends Read['method']>(
  method: Method,
  args: Parameters<Reads[Method]>,
): ReturnType<Reads[Method]> {
  reads += 1
  const answer = new Promise((resolve, reject) => reading.set(reads, { resolve, reject }))
  send({ kind: 'read', read: reads, method, args } as FromChild)
  return answer as ReturnType<Reads[Method]>
}

function send(message: FromChild): void {
  process.send?.(message)
}
