import { isOncueError, type JobDefinition, type JobId } from '@oncue/core'
import { checkSignal, parsePayload, type Registry, toRegistry } from '@oncue/core/internal'
import type { JobDetails, Outcome, Store } from '@oncue/db'
import { count, EXIT, type Output, plain } from '@oncue/db/cli'
import { importModules, startDryRuns } from '@oncue/worker/command'
import type { CheckOptions } from './check.ts'
import { type Departed, ReplayCheck } from './check-replay.ts'
import { type CodeName, matches, type NameKind, namesIn } from './code-names.ts'
import type { Call } from './command.ts'
import { usedNames } from './recorded-names.ts'

/** Jobs of one topic that are looked at, those that were created last. */
const MAX_JOBS = 1_000

/** Something that jobs have recorded, and that the code does not name. */
interface Lost {
  readonly topic: string
  readonly kind: NameKind
  readonly name: string
  readonly jobs: number
  /** One of them. */
  readonly job: JobId
}

/** Data of a job that the schemas in the code refuse. */
interface Unfit {
  readonly topic: string
  readonly job: JobId
  readonly problem: string
}

interface Found {
  readonly checked: number
  /** There are more jobs than were looked at. */
  readonly isPartial: boolean
  readonly lost: readonly Lost[]
  /** Only names that the code computes fit: they cannot be told from here. */
  readonly unsure: readonly Lost[]
  readonly unfit: readonly Unfit[]
  /** Names that the code computes. */
  readonly computed: readonly string[]
  /** With --replay. */
  readonly replayed?: number
  /** Jobs whose handler, as it is here, does not repeat what is recorded. */
  readonly departed?: readonly Departed[]
}

/** Compares what jobs have recorded with the modules of this call. */
export async function runCheck(store: Store, { config, options }: Call<CheckOptions>): Promise<Output> {
  const { workers, urls } = options.import
    ? await importModules(options.import, config.callerFolder)
    : await importModules(config.imports, config.folder)
  const names = await namesIn(urls, config.callerFolder)
  const replay = options.replay ? new ReplayCheck(await startDryRuns(urls, readsOf(store))) : undefined
  try {
    return toOutput(await find(store, toRegistry(...workers), names, replay))
  } finally {
    await replay?.close()
  }
}

async function find(
  store: Store,
  registry: Registry,
  names: readonly CodeName[],
  replay: ReplayCheck | undefined,
): Promise<Found> {
  const lost = new Map<string, { -readonly [Key in keyof Lost]: Lost[Key] }>()
  const unsure = new Map<string, { -readonly [Key in keyof Lost]: Lost[Key] }>()
  const unfit: Unfit[] = []
  let checked = 0
  let isPartial = false
  for (const topic of registry.topics()) {
    const definition = registry.get(topic)?.definition
    const ids = await store.durable.live(topic, MAX_JOBS + 1)
    isPartial ||= ids.length > MAX_JOBS
    for (const id of ids.slice(0, MAX_JOBS)) {
      const [job, outcomes] = await Promise.all([store.get(id), store.durable.outcomes(id)])
      if (!job || !definition) continue
      checked += 1
      const problems = problemsOf(job, outcomes, definition)
      for (const problem of problems) unfit.push({ topic, job: id, problem })
      // Its handler would be given data that do not fit.
      if (problems.length === 0) await replay?.add(job, outcomes)
      for (const [kind, name] of usedNames(job, outcomes)) {
        const how = compare(names, kind, name)
        if (how === 'fits') continue
        const found = how === 'lost' ? lost : unsure
        const key = JSON.stringify([topic, kind, name])
        const known = found.get(key)
        if (known) known.jobs += 1
        else found.set(key, { topic, kind, name, jobs: 1, job: id })
      }
    }
  }
  const computed = names.filter(({ parts }) => parts === undefined).map(({ place }) => place)
  return {
    ...{ checked, isPartial, lost: [...lost.values()], unsure: [...unsure.values()], unfit },
    computed: [...new Set(computed)],
    ...(await replay?.found()),
  }
}

/** All that a handler reads which is replayed. */
const readsOf = (store: Store) => ({
  results: (...args: Parameters<Store['durable']['results']>) => store.durable.results(...args),
  waitedFor: (...args: Parameters<Store['waitedFor']>) => store.waitedFor(...args),
})

function compare(names: readonly CodeName[], kind: NameKind, name: string): 'fits' | 'unsure' | 'lost' {
  const fitting = names.filter((each) => each.kind === kind && matches(each, name))
  if (fitting.length === 0) return 'lost'
  return fitting.some(({ parts }) => parts !== undefined) ? 'fits' : 'unsure'
}

/** Payload and signals that the schemas in the code refuse. */
function problemsOf(
  { payload, topic }: JobDetails,
  outcomes: readonly Outcome[],
  definition: JobDefinition,
): string[] {
  const signals = outcomes.filter(({ kind }) => kind === 'signal')
  return [
    problemOf(() => parsePayload(definition.input, payload, topic)),
    ...signals.map(({ name, data }) =>
      problemOf(() => checkSignal(definition, topic, name ?? '', JSON.stringify(data))),
    ),
  ].flatMap((problem) => problem ?? [])
}

function problemOf(check: () => unknown): string | undefined {
  try {
    check()
    return undefined
  } catch (error) {
    if (!isOncueError(error)) throw error
    return error.message
  }
}

function toOutput(found: Found): Output {
  const { checked, isPartial, lost, unsure, unfit, computed, replayed, departed = [] } = found
  const fits = lost.length + unfit.length + departed.length === 0
  const inWords = ({ topic, kind, name, jobs, job }: Lost, what: string) =>
    plain(`${topic}: ${kind} ${JSON.stringify(name)} of ${count(jobs, 'job')}, such as ${job}, ${what}`)
  const lines = [
    ...lost.map((each) => inWords(each, 'is not in the code')),
    ...unfit.map(({ topic, job, problem }) => plain(`${topic}: ${job} no longer fits: ${problem}`)),
    ...departed.map(({ topic, job, problem }) => plain(`${topic}: ${job}, replayed here, ${problem}`)),
    ...unsure.map((each) => inWords(each, 'fits only names that the code computes')),
    ...(unsure.length > 0 ? [`computed names: ${computed.join(', ')}`] : []),
    `${isPartial ? 'more than ' : ''}${count(checked, 'durable job')} checked${replayed === undefined ? '' : `, ${replayed} replayed`}: ${verdict(found)}`,
  ]
  return { text: lines.join('\n'), json: { fits, ...found }, exit: fits ? EXIT.done : EXIT.failed }
}

function verdict({ lost, unfit, departed = [] }: Found): string {
  const parts = [
    lost.length && `${lost.length} lost`,
    unfit.length && `${unfit.length} no longer fit`,
    departed.length && `${departed.length} would depart from the record`,
  ]
  return parts.filter(Boolean).join(', ') || 'everything fits'
}
