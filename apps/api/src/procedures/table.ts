import { alerts } from './alerts.ts'
import { audit } from './audit.ts'
import { bulkOperations } from './bulk-operations.ts'
import { channels } from './channels.ts'
import { database } from './database.ts'
import { devices } from './devices.ts'
import { health } from './health.ts'
import { jobs } from './jobs.ts'
import { pairings } from './pairings.ts'
import type { Named, Procedure } from './procedure.ts'
import { queues } from './queues.ts'
import { schedules } from './schedules.ts'
import { session } from './session.ts'
import { settings } from './settings.ts'
import { tokens } from './tokens.ts'
import { topics } from './topics.ts'
import { workers } from './workers.ts'

type Subjects = Readonly<Record<string, Readonly<Record<string, object>>>>

type WithPaths<Each extends Subjects> = {
  readonly [Noun in keyof Each]: {
    readonly [Verb in keyof Each[Noun]]: Named<Each[Noun][Verb], `${Noun & string}.${Verb & string}`>
  }
}

/** Gives each procedure its path: `list` of `alerts` is `alerts.list`. */
function withPaths<Each extends Subjects>(subjects: Each): WithPaths<Each> {
  const named = Object.entries(subjects).map(([noun, procedures]) => {
    const verbs = Object.entries(procedures).map(([verb, procedure]) => [
      verb,
      { ...procedure, path: `${noun}.${verb}` },
    ])
    return [noun, Object.fromEntries(verbs)]
  })
  return Object.fromEntries(named)
}

/** Every procedure of the API. The tRPC router, REST, OpenAPI, the SDK's list and the tests are derived from this. */
export const PROCEDURES = withPaths({
  jobs,
  bulkOperations,
  queues,
  workers,
  alerts,
  channels,
  topics,
  schedules,
  tokens,
  devices,
  pairings,
  audit,
  settings,
  health,
  database,
})

/** For browsers, by routes of their own that set cookies (`auth/session-routes.ts`); tRPC cannot. */
export const SESSION = withPaths({ session }).session

type Paths<Each> = {
  [Noun in keyof Each]: { [Verb in keyof Each[Noun]]: PathOf<Each[Noun][Verb]> }[keyof Each[Noun]]
}[keyof Each]
type PathOf<Each> = Each extends Named<unknown, infer Path> ? Path : never
/** `jobs.requeue` and all the others. */
export type ProcedurePath = Paths<typeof PROCEDURES>

/** The same without their own types, which were checked where each is declared: subject by subject, and by path. */
export const SUBJECTS = Object.values(PROCEDURES).map(
  (procedures) => Object.values(procedures) as unknown as readonly Named<Procedure, ProcedurePath>[],
)
export const BY_PATH: ReadonlyMap<string, Named<Procedure, ProcedurePath>> = new Map(
  SUBJECTS.flat().map((procedure) => [procedure.path, procedure]),
)
