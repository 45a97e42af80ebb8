import { loadavg } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import { ContenderProcess } from './child-process.ts'
import { type Contender, idOf } from './contender.ts'
import type { Host } from './host.ts'
import { machineMs, type Task, type WorkerReport } from './protocol.ts'
import { BATCH, SHAPES, type ShapeName } from './shapes.ts'

/** One contender, one shape, one size, some processes. */
export interface Cell {
  readonly contender: string
  readonly shape: ShapeName
  /** Of --jobs; a slow shape runs a share of it. */
  readonly size: number
  readonly jobs: number
  readonly processes: number
}

/** What was measured in one round. Null: not on this database, or not in this round. */
export interface Sample extends Cell {
  readonly round: number
  readonly enqueuePerSecond: number | null
  readonly drainPerSecond: number | null
  readonly serverCpuMicros: number | null
  readonly workerCpuMicros: number | null
  readonly enqueueWalBytes: number | null
  readonly drainWalBytes: number | null
  /** Jobs that did not run exactly as often as they should. */
  readonly wrongRuns: number
  /** The machine's load before it, over the last minute. */
  readonly load: number
}

const POLL_MS = 2
/** The slowest contender needs seconds; a lost job would need forever. */
const DRAIN_MS = 600_000

/**
 * A new database, a new process that enqueues, and new processes that work: no contender inherits another's heap,
 * compiled code or tables. Workers have loaded and connected before they begin. The drain lasts from the first
 * handler until no job is left unfinished in the store.
 */
export async function measureCell(
  host: Host,
  contender: Contender,
  cell: Omit<Cell, 'contender'>,
  round: number,
): Promise<Sample> {
  const { url, drop } = await host.create()
  const task: Omit<Task, 'role'> = { contender: idOf(contender), url, ...cell }
  const processes: ContenderProcess[] = []
  const load = loadavg()[0] ?? 0
  try {
    const start = async (role: Task['role']) => {
      const started = await ContenderProcess.start({ ...task, role })
      processes.push(started)
      return started
    }
    const producer = await start('producer')
    const enqueued = await enqueue(host, producer, cell.jobs)
    await host.settle(url)
    const workers = await Promise.all(Array.from({ length: cell.processes }, () => start('worker')))
    const drained = await drain(host, producer, workers, cell)
    const perSecond = contender.waitsBeforeRetry && cell.shape === 'retries' ? null : drained.perSecond
    return {
      ...cell,
      contender: idOf(contender),
      round,
      enqueuePerSecond: enqueued.perSecond,
      drainPerSecond: perSecond,
      serverCpuMicros: drained.serverCpuMicros,
      workerCpuMicros: drained.workerCpuMicros,
      enqueueWalBytes: enqueued.walBytes,
      drainWalBytes: drained.walBytes,
      wrongRuns: drained.wrongRuns,
      load,
    }
  } finally {
    await Promise.all(processes.map((process) => process.stop()))
    await drop()
  }
}

/** The first batch warms up; it is drained like the others. */
async function enqueue(host: Host, producer: ContenderProcess, jobs: number) {
  const warm = Math.min(BATCH, Math.floor(jobs / 4))
  await producer.ask({ enqueue: { from: 0, to: warm } }, 'enqueued')
  const before = await host.walBytes()
  const { enqueued } = await producer.ask({ enqueue: { from: warm, to: jobs } }, 'enqueued')
  const after = await host.walBytes()
  return {
    perSecond: ((jobs - warm) / enqueued.ms) * 1_000,
    walBytes: perJob(before, after, jobs - warm),
  }
}

async function drain(
  host: Host,
  producer: ContenderProcess,
  workers: readonly ContenderProcess[],
  { jobs, shape }: Omit<Cell, 'contender'>,
) {
  const walBefore = await host.walBytes()
  const cpuBefore = await host.cpuMs()
  const deadline = performance.now() + DRAIN_MS
  await Promise.all(workers.map((worker) => worker.ask({ start: true }, 'started')))
  const runs = jobs * SHAPES[shape].runs
  const isHandled = () => workers.reduce((sum, { handled }) => sum + handled, 0) >= runs
  while (!isHandled() || !(await producer.ask({ isDrained: true }, 'drained')).drained) {
    if (performance.now() > deadline) throw new Error(`jobs were left after ${DRAIN_MS / 60_000} min`)
    await sleep(POLL_MS)
  }
  const end = machineMs()
  const cpuAfter = await host.cpuMs()
  const walAfter = await host.walBytes()
  const reports = await Promise.all(
    workers.map(async (worker) => (await worker.ask({ report: true }, 'report')).report),
  )
  const cpuMs = reports.reduce((sum, report) => sum + report.cpuMs, 0)
  return {
    perSecond: (jobs / (end - firstOf(reports))) * 1_000,
    serverCpuMicros: perJob(cpuBefore, cpuAfter, jobs / 1_000),
    workerCpuMicros: (cpuMs * 1_000) / jobs,
    walBytes: perJob(walBefore, walAfter, jobs),
    wrongRuns: countWrongRuns(
      reports.map((report) => report.runs),
      jobs,
      SHAPES[shape].runs,
    ),
  }
}

/** A contender that loses jobs, or runs them twice, would look fast. */
export function countWrongRuns(runs: readonly Uint8Array[], jobs: number, wanted: number): number {
  let wrong = 0
  for (let n = 0; n < jobs; n++) {
    const found = runs.reduce((sum, one) => sum + (one[n] ?? 0), 0)
    if (found !== wanted) wrong += 1
  }
  return wrong
}

function firstOf(reports: readonly WorkerReport[]): number {
  return Math.min(...reports.map(({ firstAt }) => firstAt ?? Number.POSITIVE_INFINITY))
}

function perJob(before: number | null, after: number | null, jobs: number): number | null {
  return before === null || after === null ? null : (after - before) / jobs
}
