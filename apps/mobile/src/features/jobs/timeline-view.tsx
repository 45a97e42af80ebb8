import { StyleSheet, View } from 'react-native'
import { Icon, type IconName } from '../../components/ui/icon.tsx'
import { Pressable } from '../../components/ui/pressable.tsx'
import { Text } from '../../components/ui/text.tsx'
import { Age } from '../../components/ui/ticking.tsx'
import { useServerNow } from '../../lib/clock.ts'
import { duration, moment, shortId, untilAbout } from '../../lib/format.ts'
import { useOpen } from '../../lib/use-open.ts'
import { space, TARGET, type Tone, toneOf } from '../../theme/tokens.ts'
import { useTheme } from '../../theme/use-theme.ts'
import type { Entry } from './timeline.ts'

type Run = Extract<Entry, { kind: 'run' }>

/** What happened, from top to bottom. */
export function TimelineView({ entries }: { readonly entries: readonly Entry[] }) {
  return (
    <View role="list">
      {entries.map((entry, index) => (
        <Line key={entry.key} entry={entry} isLast={index === entries.length - 1} />
      ))}
    </View>
  )
}

function Line({ entry, isLast }: { readonly entry: Entry; readonly isLast: boolean }) {
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
        <Text variant="label">{title}</Text>
        <Text variant="small" color="textMuted">
          {entry.kind === 'next' ? <Next at={entry.at} /> : moment(entry.at)}
          {entry.kind === 'run' && <RunFacts run={entry} />}
        </Text>
        {entry.kind === 'run' && entry.worker !== null && <RanOn worker={entry.worker} />}
        {entry.kind === 'run' && entry.error && (
          <Text variant="small" color="bad" numberOfLines={3}>
            {entry.error.class}: {entry.error.message}
          </Text>
        )}
        {entry.kind === 'replaced' && entry.by !== null && <Successor jobId={entry.by} />}
        {entry.kind === 'event' && entry.data != null && (
          <Text variant="code" color="textMuted" numberOfLines={4}>
            {JSON.stringify(entry.data)}
          </Text>
        )}
      </View>
    </View>
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
      {waitedMs !== null && ` · waited ${duration(waitedMs)}`}
      {ranMs !== null && ` · ran ${duration(ranMs)}`}
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
    case 'event':
      return { title: entry.type, icon: 'activity', tone: 'neutral' }
    case 'next':
      return { title: entry.isRetry ? 'Retry due' : 'Due', icon: 'waiting', tone: 'neutral' }
  }
}

const snoozeOf = ({ snoozedMs }: Run) => (snoozedMs ? ` for ${duration(snoozedMs)}` : '')

const RUNS: Readonly<Record<Run['outcome'], Look>> = {
  running: { title: 'is running', icon: 'running', tone: 'accent' },
  completed: { title: 'completed', icon: 'good', tone: 'good' },
  failed: { title: 'failed', icon: 'bad', tone: 'bad' },
  crashed: { title: 'crashed with its worker', icon: 'bad', tone: 'bad' },
  cancelled: { title: 'was cancelled', icon: 'cancel', tone: 'neutral' },
  snoozed: { title: 'snoozed', icon: 'waiting', tone: 'neutral' },
  interrupted: { title: 'was interrupted', icon: 'stop', tone: 'neutral' },
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
  words: { flex: 1, paddingTop: 4, paddingBottom: space.m, gap: 2 },
})
