import type { Report } from '../benchmark.ts'
import { cpuMicros, median, perSecond, quantile } from '../measure.ts'
import { CONCURRENCY } from '../peers/shapes.ts'
import { count, percent, progress, table } from '../report.ts'
import { type Drained, drainOnce, type Field } from './drain.ts'

/** Oncue's speed, as a share of that of … */
const GOALS: Record<string, number> = { graphile: 1, bare: 0.7, 'bare-sqlite': 0.7 }

type Round = Readonly<Record<string, Drained>>

/**
 * Contenders take turns, and their order changes with the round, so that other load on the machine affects all
 * of them. A ratio is taken within its round. The first round warms the database up.
 */
export async function compare(
  where: string,
  fields: readonly Field[],
  jobs: number,
  rounds: number,
): Promise<Report> {
  const played: Round[] = []
  for (let n = 0; n <= rounds; n++) {
    const round: Record<string, Drained> = {}
    for (const field of [...fields.slice(n % fields.length), ...fields.slice(0, n % fields.length)]) {
      progress(`worker: ${where}, ${n === 0 ? 'warm-up' : `round ${n} of ${rounds}`}, ${field.name}`)
      round[field.name] = await drainOnce(field, jobs)
    }
    if (n > 0) played.push(round)
  }
  const names = fields.map(({ name }) => name)
  return { data: { database: where, jobs, rounds: played }, text: textOf(where, names, jobs, played) }
}

function textOf(where: string, names: readonly string[], jobs: number, rounds: readonly Round[]): string {
  const rows = names.map((name) => {
    const middle = (value: (drained: Drained) => number) =>
      median(rounds.flatMap((round) => (round[name] ? [value(round[name])] : [])))
    const wal = middle(({ logBytes }) => logBytes / jobs)
    const costs = [count(middle(perSecond)), middle(cpuMicros).toFixed(1), wal > 0 ? count(wal) : '']
    return [name, ...costs, ...verdict(name, rounds)]
  })
  const head = ['', 'jobs/s', 'CPU µs/job', 'WAL B/job', 'Oncue beside it', 'middle half', 'goal', '']
  return `${where}: ${count(jobs)} no-op jobs, one process, ${CONCURRENCY} at a time\n\n${table(head, rows)}`
}

function verdict(name: string, rounds: readonly Round[]): string[] {
  const goal = GOALS[name]
  if (goal === undefined) return []
  const ratios = rounds.flatMap(({ oncue, [name]: other }) =>
    oncue && other ? [perSecond(oncue) / perSecond(other)] : [],
  )
  const [low, middle, high] = [0.25, 0.5, 0.75].map((share) => quantile(ratios, share))
  return [
    percent(middle ?? 0),
    `${percent(low ?? 0)} – ${percent(high ?? 0)}`,
    `≥ ${percent(goal)}`,
    (middle ?? 0) >= goal ? 'yes' : 'NO',
  ]
}
