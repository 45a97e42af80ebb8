import type { Benchmark, BenchmarkOptions } from '../benchmark.ts'
import { conditions } from '../conditions.ts'
import { recorded } from '../recorded.ts'
import { count, progress } from '../report.ts'
import { type Cell, measureCell, type Sample } from './cell.ts'
import { type Contender, type DatabaseName, idOf } from './contender.ts'
import { CONTENDERS } from './contenders/index.ts'
import { type Host, postgresHost, SERVER_SETTINGS, sqliteHost } from './host.ts'
import { installPeers, PEERS } from './install.ts'
import { chooseContenders, chooseShapes, planCells, rotate } from './plan.ts'
import { renderAll, renderSummary } from './render.ts'
import { processesText } from './shapes.ts'
import { type PeersRun, summarise } from './summary.ts'

const SIZES = [40_000]
const PROCESSES = [1, 2, 4]
const ROUNDS = 3

export const peers: Benchmark = {
  summary: 'Oncue beside graphile-worker, pg-boss, BullMQ and plainjob, each at its best settings',
  recorded: recorded<PeersRun>('peers', {
    sections: [
      { document: 'README.md', name: 'summary', render: renderSummary },
      { document: 'bench/README.md', name: 'all', render: renderAll },
    ],
    isWhole: ({ rounds, rows }) => rounds >= ROUNDS && rows.every(({ size }) => size >= Math.min(...SIZES)),
  }),
  async run(options) {
    const contenders = chooseContenders(CONTENDERS, options.only, options.database)
    if (contenders.some(({ version }) => Object.values<string>(PEERS).includes(version))) await installPeers()
    const run = await measureAll(contenders, options)
    return { data: run, text: `${renderAll(run)}\n` }
  },
}

async function measureAll(
  contenders: readonly Contender[],
  { sizes = SIZES, processes = PROCESSES, rounds = ROUNDS, shapes }: BenchmarkOptions,
): Promise<PeersRun> {
  const samples: Sample[] = []
  const failures: string[] = []
  const cells = planCells(chooseShapes(shapes), sizes, processes)
  let version: string | undefined
  for (const database of ['postgres', 'sqlite'] as const) {
    const own = contenders.filter((contender) => contender.database === database)
    if (own.length === 0) continue
    const host = await hostOf(database)
    version ??= host.version
    try {
      for (let round = 1; round <= rounds; round++)
        for (const cell of cells)
          for (const contender of rotate(own, round - 1)) {
            const sample = await play(host, contender, cell, round, failures)
            if (sample) samples.push({ ...sample, enqueueWalBytes: null, drainWalBytes: null })
          }
    } finally {
      await host.close()
    }
  }
  const walCells = planCells(chooseShapes(shapes), sizes.slice(0, 1), processes.slice(0, 1))
  samples.push(...(await measureWal(contenders, walCells, failures)))
  return {
    ...conditions(),
    postgres: version === undefined ? null : { version, settings: SERVER_SETTINGS },
    rounds,
    contenders: contenders.map((contender) => {
      const { name, database, version, settings, keeps } = contender
      return { id: idOf(contender), name, database, version, settings, keeps }
    }),
    samples,
    rows: summarise(samples),
    failures,
  }
}

type Planned = Omit<Cell, 'contender'>

/** Once: bytes hardly vary. On a server of its own, where they depend on the statements alone. */
async function measureWal(
  contenders: readonly Contender[],
  cells: readonly Planned[],
  failures: string[],
): Promise<Sample[]> {
  const own = contenders.filter(({ database }) => database === 'postgres')
  if (own.length === 0) return []
  const host = await postgresHost({ wal: true })
  const samples: Sample[] = []
  try {
    for (const cell of cells)
      for (const contender of own) {
        const sample = await play(host, contender, cell, 0, failures)
        if (!sample) continue
        const nothing = { enqueuePerSecond: null, drainPerSecond: null }
        samples.push({ ...sample, ...nothing, serverCpuMicros: null, workerCpuMicros: null })
      }
  } finally {
    await host.close()
  }
  return samples
}

/** An error of one contender does not end the run; it is part of the report. */
async function play(
  host: Host,
  contender: Contender,
  cell: Planned,
  round: number,
  failures: string[],
): Promise<Sample | undefined> {
  const { shape, jobs, processes } = cell
  if (!contender.shapes.includes(shape)) return undefined
  const what = [
    round === 0 ? 'WAL' : `round ${round}`,
    `${contender.database}: ${contender.name}`,
    `${count(jobs)} jobs (${shape})`,
    processesText(processes),
  ].join(', ')
  try {
    const sample = await measureCell(host, contender, cell, round)
    progress(`peers: ${what}: ${outcomeOf(sample)}`)
    return sample
  } catch (error) {
    progress(`peers: failed: ${what}: ${error instanceof Error ? error.message : String(error)}`)
    // Without the stack, which names paths of this machine.
    failures.push(`${what}: ${String(error).split('\n')[0]}`)
    return undefined
  }
}

function outcomeOf({ drainPerSecond, serverCpuMicros, workerCpuMicros, wrongRuns }: Sample): string {
  const speed = drainPerSecond === null ? '–' : count(drainPerSecond)
  const cpu = `${serverCpuMicros?.toFixed(1) ?? '–'} + ${workerCpuMicros?.toFixed(1)} µs of CPU a job`
  return `${speed} jobs/s, ${cpu}${wrongRuns > 0 ? `, WRONG: ${count(wrongRuns)} jobs` : ''}`
}

function hostOf(database: DatabaseName): Promise<Host> | Host {
  return database === 'postgres' ? postgresHost() : sqliteHost()
}
