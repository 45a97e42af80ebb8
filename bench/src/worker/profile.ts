import { writeFile } from 'node:fs/promises'
import type { Report } from '../benchmark.ts'
import { count, percent, progress, table } from '../report.ts'
import { drainOnce, type Field, oncueOf } from './drain.ts'

/** The fields of a .cpuprofile that are needed. */
interface CpuProfile {
  readonly nodes: readonly {
    readonly id: number
    readonly callFrame: { readonly functionName: string; readonly url: string; readonly lineNumber: number }
  }[]
  readonly samples: readonly number[]
  readonly timeDeltas: readonly number[]
}

interface SelfTime {
  readonly name: string
  /** The share of the time in which the thread was not idle. */
  readonly share: number
}

/** Writes a profile of one drain, and says where its time went. */
export async function profileOf(fields: readonly Field[], jobs: number, file: string): Promise<Report> {
  progress(`worker: a profile of ${count(jobs)} jobs`)
  const { profile, ms, cpuMs } = await drainOnce(oncueOf(fields), jobs, true)
  if (profile === null) throw new Error('the worker process sent no profile')
  await writeFile(file, profile)
  const { functions, places, busyMs } = selfTimes(profile)
  const rows = (times: readonly SelfTime[]) =>
    table(
      ['self time', ''],
      times.slice(0, 15).map(({ name, share }) => [name, percent(share)]),
    )
  const busy = `the main thread was busy for ${count(busyMs)} of ${count(ms)} ms`
  return {
    data: { jobs, ms, cpuMs, busyMs, functions: functions.slice(0, 50), places },
    text: `${file}: ${busy}\n\n${rows(functions)}\n${rows(places)}`,
  }
}

/** Where the main thread spent its time: by function, and by the package or folder that it is in. */
function selfTimes(json: string): { functions: SelfTime[]; places: SelfTime[]; busyMs: number } {
  const { nodes, samples, timeDeltas } = JSON.parse(json) as CpuProfile
  const frames = new Map(nodes.map(({ id, callFrame }) => [id, callFrame]))
  const functions = new Map<string, number>()
  const places = new Map<string, number>()
  let busy = 0
  samples.forEach((id, n) => {
    const frame = frames.get(id)
    const micros = timeDeltas[n] ?? 0
    // Starting the profiler itself takes a while.
    if (!frame || frame.functionName === '(idle)' || frame.url === 'node:inspector') return
    busy += micros
    const place = placeOf(frame.url)
    const name = `${frame.functionName || '(anonymous)'} ${place}${frame.url ? `:${frame.lineNumber + 1}` : ''}`
    functions.set(name, (functions.get(name) ?? 0) + micros)
    const folder = place === '' ? frame.functionName : place.replace(/\/[^/]*$/, '')
    places.set(folder, (places.get(folder) ?? 0) + micros)
  })
  const shares = (times: Map<string, number>) =>
    [...times].map(([name, micros]) => ({ name, share: micros / busy })).toSorted((a, b) => b.share - a.share)
  return { functions: shares(functions), places: shares(places), busyMs: busy / 1_000 }
}

/** The package, or the path in this repository. */
function placeOf(url: string): string {
  const installed = url.lastIndexOf('/node_modules/')
  if (installed >= 0) return url.slice(installed + '/node_modules/'.length)
  return url.replace(/^.*\/(?=(packages|apps|bench)\/)/, '')
}
