import { setTimeout as sleep } from 'node:timers/promises'
import { measure } from '../measure.ts'
import { contenderOf } from './contenders/index.ts'
import { type Answer, machineMs, type Question, type Task, type WorkerReport } from './protocol.ts'
import { BATCH, type ShapeName } from './shapes.ts'

/** How often a worker says how many jobs it has run. */
const REPORT_MS = 10

const task = JSON.parse(process.argv[2] ?? '') as Task
const say = (answer: Answer) => process.send?.(answer)

async function main(): Promise<void> {
  const answer = task.role === 'producer' ? await producer() : await worker()
  process.on('message', (question: Question) => {
    answer(question).catch(failed)
  })
  say({ ready: true })
}

async function producer(): Promise<(question: Question) => Promise<void>> {
  const producing = await contenderOf(task.contender).produce(task.url, task.shape)
  return async (question) => {
    if ('enqueue' in question) {
      const { from, to } = question.enqueue
      const { ms, cpuMs } = await measure(async () => {
        for (let start = from; start < to; start += BATCH)
          await producing.enqueue(range(start, Math.min(start + BATCH, to)))
      })
      say({ enqueued: { ms, cpuMs } })
    } else if ('isDrained' in question) say({ drained: await producing.isDrained() })
    else await end(producing.close())
  }
}

async function worker(): Promise<(question: Question) => Promise<void>> {
  const { shape, processes } = task
  const runs = new Uint8Array(task.jobs)
  const work = handlerOf(shape)
  let handled = 0
  let said = 0
  let firstAt: number | null = null
  let cpu = process.cpuUsage()
  const handle = (n: number, attempt: number) => {
    if (firstAt === null) {
      firstAt = machineMs()
      cpu = process.cpuUsage()
    }
    handled += 1
    runs[n] = (runs[n] ?? 0) + 1
    return work(n, attempt)
  }
  const worker = await contenderOf(task.contender).work(task.url, { shape, processes, handle })
  setInterval(() => {
    if (handled !== said) say({ handled })
    said = handled
  }, REPORT_MS).unref()

  function report(): WorkerReport {
    const { user, system } = process.cpuUsage(cpu)
    return { firstAt, cpuMs: firstAt === null ? 0 : (user + system) / 1_000, runs }
  }
  return async (question) => {
    if ('start' in question) {
      await worker.start()
      say({ started: true })
    } else if ('report' in question) say({ report: report() })
    else await end(worker.stop())
  }
}

function handlerOf(shape: ShapeName): (n: number, attempt: number) => unknown {
  if (shape === '10ms') return () => sleep(10)
  if (shape === 'result') return (n) => ({ sent: n })
  if (shape !== 'retries') return () => undefined
  return (_, attempt) => {
    if (attempt === 1) throw new Error('The first run of each job fails')
  }
}

function range(from: number, to: number): number[] {
  return Array.from({ length: to - from }, (_, n) => from + n)
}

/** Some peers leave timers or connections behind, which would keep the process. */
async function end(ending: Promise<unknown>): Promise<void> {
  await ending
  process.exit(0)
}

function failed(error: unknown): void {
  say({ failed: error instanceof Error ? (error.stack ?? error.message) : String(error) })
  process.exitCode = 1
  process.disconnect()
}

// The process that measures was ended.
process.on('disconnect', () => process.exit())

main().catch(failed)
