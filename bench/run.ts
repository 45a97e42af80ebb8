import { mkdir, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { parseArgs } from 'node:util'
import { api } from './src/api/index.ts'
import type { Benchmark } from './src/benchmark.ts'
import { durable } from './src/durable/index.ts'
import { peers } from './src/peers/index.ts'
import { plans } from './src/plans/index.ts'
import { reads } from './src/reads/index.ts'
import { writeDocuments } from './src/recorded.ts'
import { progress, say } from './src/report.ts'
import { scale } from './src/scale/index.ts'
import { soak } from './src/soak/index.ts'
import { store } from './src/store/index.ts'
import { wakeups } from './src/wakeups/index.ts'
import { worker } from './src/worker/index.ts'

const BENCHMARKS: Record<string, Benchmark> = {
  ...{ store, plans, reads, scale, soak, wakeups, worker, durable, api, peers },
}

const HELP = `pnpm bench <name> [options]

${Object.entries(BENCHMARKS)
  .map(([name, { summary }]) => `  ${name.padEnd(8)}${summary}`)
  .join('\n')}

Options:
  --jobs N              jobs a step and round (each benchmark has its own default); peers takes a list
  --rounds N            rounds that count; one more warms up
  --database NAME       postgres or sqlite; both when absent
  --minutes N           of soak: how long each of its two runs takes, 10 when absent; fractions are allowed
  --rate N              of soak: jobs per second, 800 when absent
  --memory              of worker: whether its heap grows over 200 000 jobs
  --profile FILE        of worker: writes a .cpuprofile of the worker process, and its largest costs
  --only LIST           of peers and durable: contenders, such as oncue,graphile-worker,bare or oncue,dbos
  --shapes LIST         of peers: no-op (the default), 10ms, result, meta, keys, retries, queues, or all
  --processes LIST      of peers: how many worker processes; 1,2,4 when absent
  --write-docs          of peers, reads, scale, soak and durable: measures nothing, and writes the figures and
                        plots of bench/results/NAME.json into the documents
  --json [FILE]         one JSON document, in the file or on stdout instead of tables
  --plot FILE           of scale and soak: writes a plot, as SVG
  --help                this text

Progress goes to stderr. Postgres is started from npm for the run, or is the server that DATABASE_URL
names; there the benchmark makes a database of its own and drops it. plans, scale, soak and peers always
start their own; peers needs no warm-up, because every process and database is new.
`

async function main(): Promise<void> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      jobs: { type: 'string' },
      rounds: { type: 'string' },
      database: { type: 'string' },
      minutes: { type: 'string' },
      rate: { type: 'string' },
      memory: { type: 'boolean', default: false },
      profile: { type: 'string' },
      only: { type: 'string' },
      shapes: { type: 'string' },
      processes: { type: 'string' },
      'write-docs': { type: 'boolean', default: false },
      json: { type: 'boolean', default: false },
      plot: { type: 'string' },
      help: { type: 'boolean', short: 'h', default: false },
    },
  })
  const [name, file] = positionals
  if (values.help || name === undefined) return say(HELP)
  const benchmark = BENCHMARKS[name]
  if (!benchmark) throw new Error(`There is no benchmark ${JSON.stringify(name)}. Try pnpm bench --help`)
  if (values.plot && !benchmark.hasPlot) throw new Error(`${name} has no plot. Leave out --plot`)
  if (values['write-docs']) {
    if (!benchmark.recorded) throw new Error(`${name} has no recorded run. Leave out --write-docs`)
    return say(writeDocuments(benchmark.recorded))
  }
  const sizes = list(values.jobs)?.map((text) => whole('--jobs', text))
  const report = await benchmark.run({
    jobs: sizes?.[0],
    sizes,
    processes: list(values.processes)?.map((text) => whole('--processes', text)),
    only: list(values.only),
    shapes: list(values.shapes),
    rounds: values.rounds === undefined ? undefined : whole('--rounds', values.rounds),
    database: oneOf('--database', values.database, ['postgres', 'sqlite']),
    minutes: positive('--minutes', values.minutes),
    rate: values.rate === undefined ? undefined : whole('--rate', values.rate),
    memory: values.memory,
    profile: values.profile,
  })
  const json = `${JSON.stringify(report.data, null, 2)}\n`
  if (values.json && file !== undefined) await write(file, json)
  say(values.json && file === undefined ? json : report.text)
  if (values.plot) await write(values.plot, report.plot ?? '')
}

async function write(file: string, text: string): Promise<void> {
  await mkdir(dirname(file), { recursive: true })
  await writeFile(file, text)
  progress(`written: ${file}`)
}

const list = (text: string | undefined) => text?.split(',')

function whole(option: string, text: string): number {
  if (!/^[1-9]\d{0,8}$/.test(text))
    throw new Error(`${option} takes a whole number above 0, not ${JSON.stringify(text)}`)
  return Number(text)
}

function positive(option: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined
  if (!/^\d{1,4}(\.\d+)?$/.test(text) || Number(text) === 0)
    throw new Error(`${option} takes a number above 0, not ${JSON.stringify(text)}`)
  return Number(text)
}

function oneOf<T extends string>(option: string, text: string | undefined, all: readonly T[]): T | undefined {
  const found = all.find((candidate) => candidate === text)
  if (text !== undefined && !found)
    throw new Error(`${option} is one of ${all.join(', ')}, not ${JSON.stringify(text)}`)
  return found
}

main().catch((error: unknown) => {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`)
  process.exitCode = 1
})
