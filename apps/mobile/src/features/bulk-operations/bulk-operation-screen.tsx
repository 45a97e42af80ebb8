import { type Href, useRouter } from 'expo-router'
import { StyleSheet, View } from 'react-native'
import { ActionBar } from '../../components/shell/action-bar.tsx'
import { Page } from '../../components/shell/page.tsx'
import { ReadState } from '../../components/shell/read-state.tsx'
import { Banner } from '../../components/ui/banner.tsx'
import { Button } from '../../components/ui/button.tsx'
import type { IconName } from '../../components/ui/icon.tsx'
import { StateWord } from '../../components/ui/state-word.tsx'
import { Text } from '../../components/ui/text.tsx'
import { Age } from '../../components/ui/ticking.tsx'
import { useLock, useRead } from '../../lib/api.tsx'
import { duration, moment, number, percent, timeOfDay } from '../../lib/format.ts'
import { radius, space } from '../../theme/tokens.ts'
import { useTheme } from '../../theme/use-theme.ts'
import { BulkOperationRow } from './bulk-operation-row.tsx'
import { ProgressBar } from './progress-bar.tsx'
import { recentBulkOperations, useBulkOperation } from './queries.ts'
import { useStop } from './use-stop.ts'
import {
  type BulkOperation,
  hasFailedAgain,
  headlineOf,
  isGoingOn,
  jobs,
  outcomesInWords,
  progressOf,
  reasonInWords,
  scopeOf,
  skippedOf,
  spreadInWords,
  VERBS,
} from './words.ts'

/** Progress and result of one bulk operation. */
export function BulkOperationScreen({ bulkOperationId }: { readonly bulkOperationId: string }) {
  const read = useBulkOperation(bulkOperationId)
  const operation = read.data
  return (
    <Page
      title={operation ? VERBS[operation.action].verb : 'Bulk operation'}
      parent="/bulk-operations"
      badge={operation && <StateWord state={hasFailedAgain(operation) ? 'failedAgain' : operation.status} />}
      onRefresh={() => void read.refetch()}
      bar={operation && <Bar operation={operation} />}
    >
      <ReadState read={read}>{(shown) => <Shown operation={shown} />}</ReadState>
      <Recent exceptId={bulkOperationId} />
    </Page>
  )
}

function Shown({ operation }: { readonly operation: BulkOperation }) {
  const { colors } = useTheme()
  const { action, status, done, total, by, created, finishedAt, stoppedBy, error } = operation
  const hasFailed = hasFailedAgain(operation)
  const left = Math.max(0, total - done - skippedOf(operation))
  return (
    <View style={styles.content}>
      <View aria-live="polite">
        <Text variant="title" level={2} color={hasFailed ? 'bad' : 'text'}>
          {headlineOf(operation)}
        </Text>
      </View>
      <Text color="textMuted">{scopeOf(operation.filter, operation.filterError)}</Text>

      <View style={[styles.card, { backgroundColor: colors.surfaceRaised, borderColor: colors.line }]}>
        <View style={styles.numbers}>
          <Figure name={VERBS[action].done} value={done} isLarge />
          <Figure name="skipped" value={skippedOf(operation)} />
          {status !== 'completed' && <Figure name="left" value={left} />}
        </View>
        <ProgressBar
          label={`${percent(progressOf(operation))} done`}
          share={progressOf(operation)}
          tone={hasFailed ? 'bad' : TONES[status]}
        />
        {Object.entries(operation.skipped).map(([reason, many]) => (
          <Text key={reason} variant="small" color="textMuted">
            {number(many)} skipped: {reasonInWords(reason, action)}
          </Text>
        ))}
      </View>

      {operation.outcomes && done > 0 && (
        <View style={[styles.card, { backgroundColor: colors.surfaceRaised, borderColor: colors.line }]}>
          <Text variant="label" color="textMuted">
            Outcomes
          </Text>
          <View aria-live="polite">
            <Text strong color={hasFailed ? 'bad' : 'text'}>
              {outcomesInWords(operation.outcomes)}
            </Text>
          </View>
          {status === 'canary' && (
            <Text variant="small" color="textMuted">
              {canaryInWords(operation)}
            </Text>
          )}
        </View>
      )}

      {error && <Banner tone="bad" icon="bad" text={error.message} detail={`Error ${error.code}`} />}

      <View style={styles.facts}>
        <Fact name="Started by">{by.name}</Fact>
        <Fact name="Started">{moment(created)}</Fact>
        <Fact name="Matched at">{moment(operation.asOf)}</Fact>
        <Fact name="Pace">{paceOf(operation)}</Fact>
        {operation.canary && <Fact name="Tried first">{jobs(operation.canary.count)}</Fact>}
        {stoppedBy !== null && <Fact name="Stopped by">{stoppedBy}</Fact>}
        <Fact name={finishedAt ? 'Took' : 'Running for'}>
          {finishedAt ? duration(finishedAt.getTime() - created.getTime()) : <Age from={created} />}
        </Fact>
      </View>
    </View>
  )
}

const TONES = {
  canary: 'accent',
  running: 'accent',
  completed: 'good',
  stopped: 'warn',
  failed: 'bad',
} as const

/** "spread over 10 min, until about 03:22". */
function paceOf({ spreadSeconds, created, status }: BulkOperation): string {
  const pace = spreadInWords(spreadSeconds)
  if (spreadSeconds === 0 || status !== 'running') return pace
  return `${pace}, until about ${timeOfDay(new Date(created.getTime() + spreadSeconds * 1_000))}`
}

/** "The others follow when these complete, and are left alone when more than 1 fails again." */
function canaryInWords({ canary }: BulkOperation): string {
  const most = canary?.maxFailed ?? 0
  const limit = most === 0 ? 'one fails' : `more than ${number(most)} fail`
  return `The others follow when these complete, and are left alone when ${limit} again.`
}

function Figure({
  name,
  value,
  isLarge = false,
}: {
  readonly name: string
  readonly value: number
  readonly isLarge?: boolean
}) {
  return (
    <View accessible aria-label={`${number(value)} ${name}`}>
      <Text variant={isLarge ? 'hero' : 'display'}>{number(value)}</Text>
      <Text variant="label" color="textMuted">
        {name}
      </Text>
    </View>
  )
}

function Fact({ name, children }: { readonly name: string; readonly children: React.ReactNode }) {
  return (
    <View style={styles.fact}>
      <Text variant="label" color="textMuted" style={styles.name}>
        {name}
      </Text>
      <Text variant="label" style={styles.value}>
        {children}
      </Text>
    </View>
  )
}

function Bar({ operation }: { readonly operation: BulkOperation }) {
  const router = useRouter()
  const lock = useLock()
  const stop = useStop()
  if (isGoingOn(operation))
    return (
      <ActionBar>
        <Button
          label="Stop"
          icon="stop"
          variant="danger"
          lock={lock}
          isBusy={stop.isRunning}
          onPress={() => void stop.run(operation.id)}
        />
      </ActionBar>
    )
  const back = backOf(operation)
  return (
    <ActionBar>
      <Button label={back.label} icon={back.icon} onPress={() => router.dismissTo(back.href)} />
      <Button label="Now" icon="now" onPress={() => router.dismissTo('/')} />
    </ActionBar>
  )
}

/** Where its jobs are now: failures that are left stay with their group, the others are in the list of jobs. */
function backOf(operation: BulkOperation): {
  readonly label: string
  readonly icon: IconName
  readonly href: Href
} {
  const { action, filter } = operation
  const { fingerprint, queue, topic, status } = filter
  if (typeof fingerprint === 'string' && areAllGone(operation))
    return { label: 'See the failures', icon: 'failures', href: '/failures' }
  if (typeof fingerprint === 'string')
    return {
      label: 'Back to the failure',
      icon: 'failures',
      href: { pathname: '/failures/[fingerprint]', params: { fingerprint } },
    }
  // Requeued jobs no longer have the status that the filter matched.
  const kept = action === 'delete' ? { queue, topic, status } : { queue, topic }
  const params = Object.fromEntries(
    Object.entries(kept).filter((entry): entry is [string, string] => typeof entry[1] === 'string'),
  )
  return { label: 'See the jobs', icon: 'jobs', href: { pathname: '/jobs', params } }
}

/** None of its jobs is still a failure: the page of the group would say that none is left. */
function areAllGone(operation: BulkOperation): boolean {
  const { status, outcomes } = operation
  return status === 'completed' && skippedOf(operation) === 0 && (outcomes?.failedAgain ?? 0) === 0
}

function Recent({ exceptId }: { readonly exceptId: string }) {
  const { data } = useRead(recentBulkOperations)
  const others = data?.items.filter(({ id }) => id !== exceptId) ?? []
  if (others.length === 0) return null
  return (
    <View style={styles.recent}>
      <View style={styles.heading}>
        <Text variant="heading" level={2}>
          Recent bulk operations
        </Text>
      </View>
      {others.map((operation) => (
        <BulkOperationRow key={operation.id} operation={operation} />
      ))}
    </View>
  )
}

const styles = StyleSheet.create({
  content: { paddingHorizontal: space.l, gap: space.m, maxWidth: 760 },
  card: { borderRadius: radius.l, borderWidth: 1, padding: space.l, gap: space.m },
  numbers: {
    flexDirection: 'row',
    flexWrap: 'wrap',
    alignItems: 'flex-end',
    columnGap: space.xxl,
    rowGap: space.s,
  },
  facts: { gap: space.s },
  fact: { flexDirection: 'row', gap: space.m },
  name: { width: 104 },
  value: { flex: 1 },
  recent: { paddingTop: space.xl, maxWidth: 760 },
  heading: { paddingHorizontal: space.l, paddingBottom: space.s },
})
