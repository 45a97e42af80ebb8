import { setTimeout as sleep } from 'node:timers/promises'
import type { Contender, Engine, Flow, Input } from './contender.ts'

export const MANY_STEPS = 1_000
/** Gaps between steps are measured over so many of them. */
const WINDOW = 100
const FLOWS = 50
const STEPS_EACH = 50
const SINGLES = 40

export interface Measured {
  readonly stepsPerSecond: number
  /** Milliseconds, each of many. */
  readonly firstStep: readonly number[]
  readonly early: readonly number[]
  readonly late: readonly number[]
  readonly resume: readonly number[]
  readonly signal: readonly number[]
}

/** When the steps of each workflow began, and when its last run did. */
class Probe {
  readonly #steps = new Map<string, number[]>()
  readonly #began = new Map<string, number>()
  readonly #expected = new Map<string, { count: number; resolve: () => void }>()

  readonly body = async (flow: Flow, { tag, steps, after }: Input): Promise<void> => {
    this.#began.set(tag, performance.now())
    for (let n = 0; n < steps; n++) await flow.step(`step ${n}`, async () => this.#note(tag, n))
    if (after === 'end') return
    await (after === 'receive' ? flow.receive() : flow.pause())
    await flow.step('last', async () => this.#note(tag, steps))
  }

  #note(tag: string, n: number): number {
    const times = this.#steps.get(tag) ?? []
    this.#steps.set(tag, times)
    times.push(performance.now())
    const expected = this.#expected.get(tag)
    if (expected && times.length >= expected.count) expected.resolve()
    return n
  }

  times(tag: string): readonly number[] {
    return this.#steps.get(tag) ?? []
  }

  began(tag: string): number {
    return this.#began.get(tag) ?? Number.NaN
  }

  /** Resolves when so many steps of it have begun. */
  until(tag: string, count: number): Promise<void> {
    if (this.times(tag).length >= count) return Promise.resolve()
    return new Promise((resolve) => this.#expected.set(tag, { count, resolve }))
  }
}

/** Everything that is measured of one contender, in its own process. */
export async function measureContender(contender: Contender, url: string, round: number): Promise<Measured> {
  const probe = new Probe()
  const engine = await contender.start(url, probe.body)
  let next = 0
  const newTag = () => `${round}-${contender.name}-${next++}`
  try {
    await throughput(engine, probe, newTag, 10)
    return {
      stepsPerSecond: await throughput(engine, probe, newTag, STEPS_EACH),
      firstStep: await firstSteps(engine, probe, newTag),
      ...(await gaps(engine, probe, newTag)),
      resume: await resumes(engine, probe, newTag),
      signal: await signals(engine, probe, newTag),
    }
  } finally {
    await engine.stop()
  }
}

async function throughput(
  engine: Engine,
  probe: Probe,
  newTag: () => string,
  steps: number,
): Promise<number> {
  const tags = Array.from({ length: FLOWS }, newTag)
  const start = performance.now()
  await Promise.all(
    tags.map(async (tag) => {
      await engine.begin({ tag, steps, after: 'end' })
      await probe.until(tag, steps)
    }),
  )
  return (FLOWS * steps * 1_000) / (performance.now() - start)
}

async function firstSteps(engine: Engine, probe: Probe, newTag: () => string): Promise<number[]> {
  const samples: number[] = []
  for (let n = 0; n < SINGLES; n++) {
    const tag = newTag()
    const start = performance.now()
    await engine.begin({ tag, steps: 1, after: 'end' })
    await probe.until(tag, 1)
    samples.push((probe.times(tag)[0] ?? Number.NaN) - start)
  }
  return samples
}

/** From one step to the next, of one workflow alone: at its beginning, and after a thousand. */
async function gaps(
  engine: Engine,
  probe: Probe,
  newTag: () => string,
): Promise<Pick<Measured, 'early' | 'late'>> {
  const tag = newTag()
  const steps = MANY_STEPS + WINDOW + 1
  await engine.begin({ tag, steps, after: 'end' })
  await probe.until(tag, steps)
  const times = probe.times(tag)
  const between = times.slice(1).map((time, n) => time - (times[n] ?? Number.NaN))
  return { early: between.slice(0, WINDOW), late: between.slice(MANY_STEPS) }
}

/** From the first line of the run that repeats a thousand steps to its first new one. */
async function resumes(engine: Engine, probe: Probe, newTag: () => string): Promise<number[]> {
  const samples: number[] = []
  for (let n = 0; n < 3; n++) {
    const tag = newTag()
    const id = await engine.begin({ tag, steps: MANY_STEPS, after: 'pause' })
    await waiting(engine, id)
    await engine.repeat(id)
    await probe.until(tag, MANY_STEPS + 1)
    samples.push((probe.times(tag).at(-1) ?? Number.NaN) - probe.began(tag))
  }
  return samples
}

/** From the call that sends the signal to the step after the wait. */
async function signals(engine: Engine, probe: Probe, newTag: () => string): Promise<number[]> {
  const samples: number[] = []
  for (let n = 0; n < SINGLES; n++) {
    const tag = newTag()
    const id = await engine.begin({ tag, steps: 1, after: 'receive' })
    await waiting(engine, id)
    const start = performance.now()
    await engine.signal(id)
    await probe.until(tag, 2)
    samples.push((probe.times(tag)[1] ?? Number.NaN) - start)
  }
  return samples
}

async function waiting(engine: Engine, id: string): Promise<void> {
  while (!(await engine.isWaiting(id))) await sleep(5)
}
