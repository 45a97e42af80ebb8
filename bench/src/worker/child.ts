import { Session } from 'node:inspector/promises'
import { startBarePostgres, startBareSqlite } from './bare.ts'
import type { Answer, Question, Start, Usage } from './contender.ts'
import { startGraphile } from './graphile.ts'
import { startOncue } from './oncue.ts'

const STARTS: Record<string, Start> = {
  oncue: startOncue,
  graphile: startGraphile,
  bare: startBarePostgres,
  'bare-sqlite': startBareSqlite,
}

const [, , name = '', url = ''] = process.argv
const say = (answer: Answer) => process.send?.(answer)

let left = 0
let cpu = process.cpuUsage()
let session: Session | null = null

async function main(): Promise<void> {
  const start = STARTS[name]
  if (!start) throw new Error(`There is no contender ${JSON.stringify(name)}`)
  const worker = await start(url, () => {
    left -= 1
    if (left === 0) say({ ranAll: true })
  })
  process.on('message', (question: Question) => {
    answer(question).catch(failed)
  })
  say({ ready: true })

  async function answer(question: Question): Promise<void> {
    if ('expect' in question) {
      left = question.expect
      if (question.profile) session = await startProfile()
      cpu = process.cpuUsage()
      say({ expecting: true })
    } else if ('go' in question) worker.go?.()
    else if ('report' in question) say({ report: await report() })
    else {
      await worker.stop()
      process.disconnect()
    }
  }
}

async function report(): Promise<Usage> {
  const { user, system } = process.cpuUsage(cpu)
  const profile = session && JSON.stringify((await session.post('Profiler.stop')).profile)
  session?.disconnect()
  session = null
  globalThis.gc?.()
  return { cpuMs: (user + system) / 1_000, heapBytes: process.memoryUsage().heapUsed, profile }
}

async function startProfile(): Promise<Session> {
  const started = new Session()
  started.connect()
  await started.post('Profiler.enable')
  await started.post('Profiler.setSamplingInterval', { interval: 200 })
  await started.post('Profiler.start')
  return started
}

function failed(error: unknown): void {
  say({ failed: error instanceof Error ? (error.stack ?? error.message) : String(error) })
  process.exitCode = 1
  process.disconnect()
}

main().catch(failed)
