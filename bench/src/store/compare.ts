import { cpuMicros, median, NOTHING, perSecond, plus } from '../measure.ts'
import { progress } from '../report.ts'
import type { Contender } from './contender.ts'
import { partsOf, type Round, STEPS, type Step } from './steps.ts'

export interface StepResult {
  readonly step: Step
  /** Oncue's speed as a share of the bare loop's, round by round. */
  readonly ratios: readonly number[]
  readonly ratio: number
  readonly jobsPerSecond: { readonly oncue: number; readonly bare: number }
  /** CPU time of this process. On SQLite that is all; on Postgres it does not include the server's. */
  readonly cpuMicrosPerJob: { readonly oncue: number; readonly bare: number }
}

export interface Sizes {
  readonly jobs: number
  readonly singles: number
  readonly rounds: number
}

type Pair<T> = { readonly oncue: T; readonly bare: T }

/**
 * Oncue, bare, Oncue, bare, …, part by part of each round: other load on the machine affects both.
 * The order changes with the round. A ratio is taken within its round, and the median of the
 * rounds is the result. The first round warms up and is left out.
 */
export async function compare(
  where: string,
  contenders: Pair<Contender>,
  reset: () => Promise<void>,
  sizes: Sizes,
): Promise<StepResult[]> {
  const rounds: Pair<Round>[] = []
  for (let n = 0; n <= sizes.rounds; n++) {
    progress(`${where}: ${n === 0 ? 'warm-up' : `round ${n} of ${sizes.rounds}`}`)
    await reset()
    const round = await playRound(contenders, sizes, n)
    if (n > 0) rounds.push(round)
  }
  return STEPS.map((step) => resultOf(step, rounds))
}

async function playRound(
  contenders: Pair<Contender>,
  { jobs, singles }: Sizes,
  n: number,
): Promise<Pair<Round>> {
  const round = { oncue: noRound(), bare: noRound() }
  const order = n % 2 === 0 ? (['oncue', 'bare'] as const) : (['bare', 'oncue'] as const)
  for (const part of partsOf(jobs, singles)) {
    for (const name of order) {
      const costs = await part(contenders[name])
      for (const step of STEPS) round[name][step] = plus(round[name][step], costs[step] ?? NOTHING)
    }
  }
  return round
}

function noRound(): Round {
  return Object.fromEntries(STEPS.map((step) => [step, NOTHING])) as Round
}

function resultOf(step: Step, rounds: readonly Pair<Round>[]): StepResult {
  const ratios = rounds.map(({ oncue, bare }) => perSecond(oncue[step]) / perSecond(bare[step]))
  const middle = (name: 'oncue' | 'bare', value: typeof perSecond) =>
    median(rounds.map((round) => value(round[name][step])))
  return {
    step,
    ratios,
    ratio: median(ratios),
    jobsPerSecond: { oncue: middle('oncue', perSecond), bare: middle('bare', perSecond) },
    cpuMicrosPerJob: { oncue: middle('oncue', cpuMicros), bare: middle('bare', cpuMicros) },
  }
}
