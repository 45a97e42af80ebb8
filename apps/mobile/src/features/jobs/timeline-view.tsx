import { memo, useMemo, useState } from 'react'
import { StyleSheet, View } from 'react-native'
import { Button, Tight } from '../../components/ui/button.tsx'
import { Icon, type IconName } from '../../components/ui/icon.tsx'
import { JsonTree } from '../../components/ui/json-tree.tsx'
import { Pressable } from '../../components/ui/pressable.tsx'
import { Text } from '../../components/ui/text.tsx'
import { Age } from '../../components/ui/ticking.tsx'
import { useLock, useRead } from '../../lib/api.tsx'
import { serverNow, useServerNow } from '../../lib/clock.ts'
import { count, duration, moment, number, shortId, untilAbout } from '../../lib/format.ts'
import { useOpen } from '../../lib/use-open.ts'
import { space, TARGET, type Tone, toneOf } from '../../theme/tokens.ts'
import { useTheme } from '../../theme/use-theme.ts'
import type { JobDetails } from './job-stream.ts'
import { story } from './queries.ts'
import { recordedSteps } from './rerun.ts'
import { RerunSheet } from './rerun-sheet.tsx'
import { Card, Section } from './section.tsx'
import { type Entry, timelineOf } from './timeline.ts'
import { waitInWords } from './waits.ts'

type Run = Extract<Entry, { kind: 'run' }>
type Told = Extract<Entry, { kind: 'told' }>

/** The newest entries are shown, and so many more with each press: a phone draws a thousand too slowly. */
const SHOWN = 50
const MORE = 100

/** Everything that happened to a job, and what it waits for. */
export function JobTimeline({ job }: { readonly job: JobDetails }) {
  const { data } = useRead(story(job.id))
  const entries = useMemo(() => timelineOf(job, data, serverNow()), [job, data])
  const steps = useMemo(() => recordedSteps(job, entries), [job, entries])
  const [rerun, setRerun] = useState<string | null>(null)
  return (
    <Section title="Timeline">
      <Card>
        <TimelineView
          entries={entries}
          masked={data?.masked}
          isComplete={data?.isComplete}
          steps={new Map(steps.flatMap(({ key, name, isStart }) => (isStart ? [[key, name]] : [])))}
          onRerun={setRerun}
        />
      </Card>
      {rerun !== null && (
        <RerunSheet
          job={job}
          step={rerun}
          steps={steps.map(({ name }) => name)}
          onClose={() => setRerun(null)}
        />
      )}
    </Section>
  )
}

interface TimelineViewProps {
  readonly entries: readonly Entry[]
  /** Paths of values that only admins see. */
  readonly masked?: readonly string[] | undefined
  /** False: the API left older entries out. */
  readonly isComplete?: boolean | undefined
  /** The steps from which it can run again, by the keys of their entries. */
  readonly steps: ReadonlyMap<string, string>
  readonly onRerun: (step: string) => void
}

/** What happened, from top to bottom. */
function TimelineView(props: TimelineViewProps) {
  const { entries, masked = NONE, isComplete = true, steps, onRerun } = props
  const [shown, setShown] = useState(SHOWN)
  const [first, ...rest] = entries
  const hidden = Math.max(0, rest.length - shown)
  if (!first) return null
  return (
    <View role="list">
      <Line entry={first} isLast={rest.length === 0} masked={masked} step={null} onRerun={onRerun} />
      {!isComplete && (
        <View role="listitem" style={styles.gap}>
          <Text variant="small" color="textMuted">
            Older entries are left out: the newest 1,000 are kept here.
          </Text>
        </View>
      )}
      {hidden > 0 && (
        <View role="listitem" style={styles.gap}>
          <Button
            label={`Show ${number(Math.min(hidden, MORE))} of ${count(hidden, 'earlier entry', 'earlier entries')}`}
            variant="quiet"
            onPress={() => setShown(shown + MORE)}
          />
        </View>
      )}
      {rest.slice(hidden).map((entry, index, all) => (
        <Line
          key={entry.key}
          entry={entry}
          isLast={index === all.length - 1}
          masked={masked}
          step={steps.get(entry.key) ?? null}
          onRerun={onRerun}
        />
      ))}
    </View>
  )
}

const NONE: readonly string[] = []

interface LineProps {
  readonly entry: Entry
  readonly isLast: boolean
  readonly masked: readonly string[]
  /** Of a finished job: the step whose end it tells. */
  readonly step: string | null
  readonly onRerun: (step: string) => void
}

/** Entries are made anew whenever something happens, most of them as they were. */
const Line = memo(DrawnLine, (before, after) => {
  const isSame = before.isLast === after.isLast && before.masked.join() === after.masked.join()
  return isSame && before.step === after.step && areAlike(before.entry, after.entry)
})

function areAlike(one: Entry, other: Entry): boolean {
  const values = new Map<string, unknown>(Object.entries(other))
  return Object.entries(one).every(([name, value]) => {
    const now = values.get(name)
    if (value instanceof Date) return now instanceof Date && +value === +now
    if (name === 'within') return JSON.stringify(value) === JSON.stringify(now)
    return Object.is(value, now)
  })
}

function DrawnLine({ entry, isLast, masked, step, onRerun }: LineProps) {
  const { colors } = useTheme()
  const { title, icon, tone } = lookOf(entry)
  const { ink, wash } = toneOf(colors, tone)
  return (
    <View style={styles.line} role="listitem">
      <View style={styles.rail}>
        <View style={[styles.dot, { backgroundColor: wash }]}>
          <Icon name={icon} size={14} ink={ink} />
        </View>
        {!isLast && <View style={[styles.track, { backgroundColor: colors.line }]} />}
      </View>
      <View style={styles.words}>
        {entry.kind === 'waiting' ? (
          <Wait waits={entry.waits} isUndoing={entry.isUndoing} />
        ) : (
          <Text variant="label">{title}</Text>
        )}
        <Text variant="small" color="textMuted">
          {entry.kind === 'next' ? <Next at={entry.at} /> : moment(entry.at)}
          {entry.kind === 'run' && <RunFacts run={entry} />}
          {entry.kind === 'told' && factsOf(entry)}
        </Text>
        {entry.kind === 'run' && entry.worker !== null && <RanOn worker={entry.worker} />}
        {entry.kind === 'run' && entry.error && (
          <Text variant="small" color="bad" numberOfLines={3}>
            {entry.error.class}: {entry.error.message}
          </Text>
        )}
        {entry.kind === 'replaced' && entry.by !== null && <Successor jobId={entry.by} />}
        {entry.kind === 'event' && <EventData type={entry.type} data={entry.data} />}
        {entry.kind === 'told' && <ToldData told={entry} masked={masked} />}
        {step !== null && <Rerun step={step} onRerun={onRerun} />}
      </View>
    </View>
  )
}

function Rerun({ step, onRerun }: { readonly step: string; readonly onRerun: (step: string) => void }) {
  return (
    <View style={styles.rerun}>
      <Tight.Provider value>
        <Button
          label="Rerun from this step"
          variant="quiet"
          hint={`Runs “${step}” and all steps after it again`}
          lock={useLock()}
          onPress={() => onRerun(step)}
        />
      </Tight.Provider>
    </View>
  )
}

function Wait({ waits, isUndoing }: Pick<Extract<Entry, { kind: 'waiting' }>, 'waits' | 'isUndoing'>) {
  return <Text variant="label">{waitInWords(waits, useServerNow(), isUndoing)}</Text>
}

/** " · 1.2 s into run 2", " · after 2 d". */
function factsOf({ what, within, tookMs, until }: Told): string {
  const parts = [
    within && `${duration(within.ms)} into run ${within.run}`,
    tookMs !== null && `after ${duration(tookMs)}`,
    what === 'asked' && until && `until ${moment(until)}`,
  ]
  return parts.map((part) => (part ? ` · ${part}` : '')).join('')
}

interface SpawnedData {
  readonly jobs?: readonly { readonly name: string; readonly id: string }[]
}
interface ChildrenData {
  readonly failed?: readonly { readonly id: string; readonly status: string }[]
}
interface AnswerData {
  readonly value?: unknown
  readonly reason?: string
}
interface ErrorData {
  readonly class?: string
  readonly message?: string
}

/** What there is to say about an entry beside its title: a result, an answer, jobs. */
function ToldData({ told, masked }: { readonly told: Told; readonly masked: readonly string[] }) {
  const { what, data, size, path } = told
  if (size !== null)
    return (
      <Text variant="small" color="textMuted">
        {`${number(size)} bytes, left out here.`}
      </Text>
    )
  switch (what) {
    case 'asked':
    case 'slept':
    case 'retried':
    case 'timeout':
      return null
    case 'spawned':
      return <Jobs jobs={(data as SpawnedData | null)?.jobs ?? []} />
    case 'children':
      return (
        <Jobs
          jobs={((data as ChildrenData | null)?.failed ?? []).map(({ id, status }) => ({ id, name: status }))}
        />
      )
    case 'answer':
      return <Data value={(data as AnswerData | null)?.value} masked={masked} root={`${path}.value`} />
    case 'refused': {
      const { value, reason } = (data ?? {}) as AnswerData
      return (
        <>
          {reason !== undefined && (
            <Text variant="small" color="bad">
              {reason}
            </Text>
          )}
          <Data value={value} masked={masked} root={`${path}.value`} />
        </>
      )
    }
    case 'step_failed':
      return <Failure error={data} masked={masked} root={path} />
    case 'step':
    case 'signal':
      return <Data value={data} masked={masked} root={path} />
  }
}

/** What its title does not say. */
function EventData({ type, data }: Pick<Extract<Entry, { kind: 'event' }>, 'type' | 'data'>) {
  if (type === 'undoing' || type === 'steps_forgotten') return null
  if (!CALLS.has(type)) return <Data value={data} />
  const { error, args, plan, result } = (data ?? {}) as AgentData
  return error === undefined ? <Data value={args ?? plan ?? result} /> : <Failure error={error} />
}

function Failure({ error, ...where }: Omit<DataProps, 'value'> & { readonly error: unknown }) {
  const { class: name, message } = (error ?? {}) as ErrorData
  if (message === undefined) return <Data value={error} {...where} />
  return (
    <Text variant="small" color="bad" numberOfLines={3}>
      {name === undefined ? message : `${name}: ${message}`}
    </Text>
  )
}

/** From this length on JSON is folded. */
const LONG = 160

interface DataProps {
  readonly value: unknown
  readonly masked?: readonly string[]
  readonly root?: string
}

function Data({ value, masked = NONE, root = '' }: DataProps) {
  const [isOpen, setOpen] = useState(false)
  if (value === null || value === undefined) return null
  const text = JSON.stringify(value)
  if (text.length <= LONG)
    return (
      <Text variant="code" color="textMuted" selectable>
        {text}
      </Text>
    )
  return (
    <View>
      {isOpen ? (
        <JsonTree value={value} masked={masked} root={root} />
      ) : (
        <Text variant="code" color="textMuted" numberOfLines={2}>
          {text.slice(0, 2 * LONG)}
        </Text>
      )}
      <Pressable role="button" aria-expanded={isOpen} onPress={() => setOpen(!isOpen)} style={styles.worker}>
        <Text variant="small" color="accent">
          {isOpen ? 'Show less' : 'Show all'}
        </Text>
      </Pressable>
    </View>
  )
}

/** More are under Family. */
const JOBS = 5

function Jobs({ jobs }: { readonly jobs: readonly { readonly name: string; readonly id: string }[] }) {
  const openJob = useOpen('jobId')
  return (
    <>
      {jobs.slice(0, JOBS).map(({ name, id }) => (
        <Pressable
          key={id}
          role="link"
          aria-label={`Job ${id}`}
          onPress={() => openJob(id)}
          style={styles.worker}
        >
          <Text variant="small" color="accent">{`${name} · ${shortId(id)}`}</Text>
        </Pressable>
      ))}
      {jobs.length > JOBS && (
        <Text variant="small" color="textMuted">{`and ${number(jobs.length - JOBS)} more`}</Text>
      )}
    </>
  )
}

function Successor({ jobId }: { readonly jobId: string }) {
  const openJob = useOpen('jobId')
  return (
    <Pressable role="link" aria-label={`Job ${jobId}`} onPress={() => openJob(jobId)} style={styles.link}>
      <Text variant="label" color="accent">
        {jobId}
      </Text>
    </Pressable>
  )
}

function RanOn({ worker }: { readonly worker: string }) {
  const openWorker = useOpen('workerId')
  return (
    <Pressable role="link" onPress={() => openWorker(worker)} style={styles.worker}>
      <Text variant="small" color="accent">{`on worker ${shortId(worker)}`}</Text>
    </Pressable>
  )
}

function RunFacts({ run: { waitedMs, ranMs, outcome, at } }: { readonly run: Run }) {
  return (
    <>
      {waitedMs !== null && ` · waited\u00a0${duration(waitedMs)}`}
      {ranMs !== null && ` · ran\u00a0${duration(ranMs)}`}
      {outcome === 'running' && (
        <Text variant="small" color="textMuted">
          {' · for '}
          <Age from={at} />
        </Text>
      )}
    </>
  )
}

function Next({ at }: { readonly at: Date }) {
  const now = useServerNow()
  return at.getTime() > now ? `${untilAbout(at, now)}, ${moment(at)}` : 'as soon as a worker is free'
}

interface Look {
  readonly title: string
  readonly icon: IconName
  readonly tone: Tone
}

function lookOf(entry: Entry): Look {
  switch (entry.kind) {
    case 'enqueued':
      return { title: 'Enqueued', icon: 'plus', tone: 'neutral' }
    case 'run':
      if (entry.hasUndone)
        return {
          title: `Run ${entry.run} undid the job, which ended as ${entry.outcome}`,
          icon: 'requeue',
          tone: 'neutral',
        }
      return {
        ...RUNS[entry.outcome],
        title: `Run ${entry.run} ${RUNS[entry.outcome].title}${snoozeOf(entry)}`,
      }
    case 'done-by':
      return {
        ...ACTS[entry.what],
        title: `${ACTS[entry.what].title}${entry.by === null ? '' : ` by ${entry.by}`}`,
      }
    case 'replaced':
      return { title: 'Replaced by a newer enqueue', icon: 'requeue', tone: 'neutral' }
    case 'step':
      return { title: `Step “${entry.name}” finished`, icon: 'check', tone: 'neutral' }
    case 'told':
      return toldLook(entry)
    case 'waiting':
      return { title: '', icon: 'suspended', tone: 'paused' }
    case 'event':
      return eventLook(entry.type, entry.data)
    case 'next':
      return { title: entry.isRetry ? 'Retry due' : 'Due', icon: 'waiting', tone: 'neutral' }
  }
}

const snoozeOf = ({ snoozedMs }: Run) => (snoozedMs ? ` for ${duration(snoozedMs)}` : '')

function toldLook({ what, name, by, data }: Told): Look {
  const named = name === null ? '' : ` “${name}”`
  const who = by === null ? '' : ` by ${by}`
  switch (what) {
    case 'step':
      return { title: `Step${named} finished`, icon: 'check', tone: 'neutral' }
    case 'step_failed':
      return { title: `Step${named} failed`, icon: 'bad', tone: 'bad' }
    case 'retried':
      return {
        title: `${name === null ? 'It' : `“${name}”`} was tried again`,
        icon: 'requeue',
        tone: 'neutral',
      }
    case 'slept':
      return { title: `Sleep${named} ended`, icon: 'waiting', tone: 'neutral' }
    case 'signal':
      return { title: `Signal${named} received`, icon: 'signal', tone: 'accent' }
    case 'asked': {
      const { question } = (data ?? {}) as { readonly question?: string }
      return { title: question ?? `Asked${named}`, icon: 'questions', tone: 'accent' }
    }
    case 'answer':
      return { title: `Answered${who}`, icon: 'good', tone: 'good' }
    case 'refused':
      return { title: `The job refused the answer${who}`, icon: 'warn', tone: 'warn' }
    case 'spawned': {
      const many = (data as SpawnedData | null)?.jobs?.length
      return { title: many ? `Spawned ${count(many, 'job')}` : 'Spawned jobs', icon: 'jobs', tone: 'neutral' }
    }
    case 'children': {
      const many = (data as ChildrenData | null)?.failed?.length ?? 0
      if (many === 0) return { title: 'All children completed', icon: 'good', tone: 'neutral' }
      const failed = count(many, 'child', 'children')
      return { title: `${failed} did not complete`, icon: 'bad', tone: 'bad' }
    }
    case 'undo':
      return { title: `Undo${named} registered`, icon: 'plus', tone: 'neutral' }
    case 'undone':
      return { title: `Undo${named} has run`, icon: 'requeue', tone: 'neutral' }
    case 'timeout':
      return { title: `${name === null ? 'It' : `“${name}”`} timed out`, icon: 'late', tone: 'warn' }
  }
}

interface AgentData {
  readonly name?: string
  readonly error?: unknown
  readonly args?: unknown
  readonly plan?: unknown
  readonly result?: unknown
}

/** Calls whose events have a value or an error: what an agent does, and what is tried again. */
const CALLS: ReadonlySet<string> = new Set([
  'step_retried',
  'undo_retried',
  'plan_generated',
  'node_started',
  'node_finished',
  'tool_called',
  'tool_returned',
])

/** Of the events that Oncue writes itself; others are called by their type. */
function eventLook(type: string, data: unknown): Look {
  const { name, status, from, by, error, attempt } = (data ?? {}) as AgentData & {
    readonly status?: string
    readonly from?: string | null
    readonly by?: string | null
    readonly attempt?: number
  }
  const named = name === undefined ? '' : ` “${name}”`
  const isBad = error !== undefined
  const ended = { icon: isBad ? 'bad' : 'check', tone: isBad ? 'bad' : 'neutral' } as const
  switch (type) {
    case 'plan_generated':
      return { title: `Plan${named} made`, icon: 'check', tone: 'neutral' }
    case 'node_started':
      return { title: `Node${named} started`, icon: 'running', tone: 'neutral' }
    case 'node_finished':
      return { title: `Node${named} ${isBad ? 'failed' : 'finished'}`, ...ended }
    case 'tool_called':
      return { title: `Tool${named} called`, icon: 'running', tone: 'neutral' }
    case 'tool_returned':
      return { title: `Tool${named} ${isBad ? 'failed' : 'returned'}`, ...ended }
    case 'step_retried':
    case 'undo_retried':
      return {
        title: `${type === 'step_retried' ? 'Step' : 'Undo'}${named} failed${attempt === undefined ? '' : `, attempt ${attempt}`}`,
        ...ended,
      }
    case 'undoing':
      return {
        title: `Undoing began; the job will end as ${status ?? 'failed'}`,
        icon: 'requeue',
        tone: 'warn',
      }
    case 'steps_forgotten':
      return {
        title: `Set to run again from ${from == null ? 'the start' : `step “${from}”`}${by == null ? '' : ` by ${by}`}`,
        icon: 'requeue',
        tone: 'accent',
      }
    default:
      return { title: type, icon: 'activity', tone: 'neutral' }
  }
}

const RUNS: Readonly<Record<Run['outcome'], Look>> = {
  running: { title: 'is running', icon: 'running', tone: 'accent' },
  completed: { title: 'completed', icon: 'good', tone: 'good' },
  failed: { title: 'failed', icon: 'bad', tone: 'bad' },
  crashed: { title: 'crashed with its worker', icon: 'bad', tone: 'bad' },
  cancelled: { title: 'was cancelled', icon: 'cancel', tone: 'neutral' },
  snoozed: { title: 'snoozed', icon: 'waiting', tone: 'neutral' },
  interrupted: { title: 'was interrupted', icon: 'stop', tone: 'neutral' },
  suspended: { title: 'was suspended', icon: 'suspended', tone: 'paused' },
}

const ACTS: Readonly<Record<Extract<Entry, { kind: 'done-by' }>['what'], Look>> = {
  requeued: { title: 'Retried', icon: 'requeue', tone: 'accent' },
  payload_changed: { title: 'Payload changed', icon: 'requeue', tone: 'accent' },
  run_now: { title: 'Run now', icon: 'runNow', tone: 'accent' },
  cancelled: { title: 'Cancelled', icon: 'cancel', tone: 'neutral' },
  cancel_requested: { title: 'Asked to stop', icon: 'stop', tone: 'warn' },
}

const styles = StyleSheet.create({
  line: { flexDirection: 'row', gap: space.m },
  rail: { alignItems: 'center', width: 28 },
  dot: { width: 28, height: 28, borderRadius: 14, alignItems: 'center', justifyContent: 'center' },
  track: { flex: 1, width: 2, minHeight: space.s, marginVertical: 2 },
  link: { minHeight: TARGET, justifyContent: 'center' },
  worker: { minHeight: 32, justifyContent: 'center', alignSelf: 'flex-start' },
  // Its label stands below the other words.
  rerun: { marginLeft: -space.s, alignSelf: 'flex-start' },
  gap: { paddingLeft: 28 + space.m, paddingBottom: space.m },
  words: { flex: 1, minWidth: 0, paddingTop: 4, paddingBottom: space.m, gap: 2 },
})
