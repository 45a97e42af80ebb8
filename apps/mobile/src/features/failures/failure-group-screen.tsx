import { useRouter } from 'expo-router'
import { useState } from 'react'
import { StyleSheet, View } from 'react-native'
import { ActionBar } from '../../components/shell/action-bar.tsx'
import { Page } from '../../components/shell/page.tsx'
import { ReadState } from '../../components/shell/read-state.tsx'
import { Badge } from '../../components/ui/badge.tsx'
import { Banner } from '../../components/ui/banner.tsx'
import { Button } from '../../components/ui/button.tsx'
import { EmptyState } from '../../components/ui/empty-state.tsx'
import { Row } from '../../components/ui/row.tsx'
import { Segmented } from '../../components/ui/segmented.tsx'
import { Sheet } from '../../components/ui/sheet.tsx'
import { Text } from '../../components/ui/text.tsx'
import { Ago, Until } from '../../components/ui/ticking.tsx'
import { useLock, useRead } from '../../lib/api.tsx'
import { breakable } from '../../lib/breakable.ts'
import { useFontScale } from '../../lib/font-scale.ts'
import { number, shortId } from '../../lib/format.ts'
import { useKeyboard } from '../../lib/use-keyboard.ts'
import { useOpen } from '../../lib/use-open.ts'
import { radius, space } from '../../theme/tokens.ts'
import { useIsWide, useTheme } from '../../theme/use-theme.ts'
import { ConfirmSheet } from '../bulk-operations/confirm-sheet.tsx'
import { type Action, leftAloneOf, many } from '../bulk-operations/words.ts'
import { type JobFilter, paramsOf } from '../jobs/filter.ts'
import { FailureChart } from '../lazy-charts.tsx'
import { ALERT_QUEUE } from '../queues/use-pausing.ts'
import { ErrorView } from './error-view.tsx'
import { useFailureFilter, WINDOW_OPTIONS, WINDOWS, type WindowName } from './filter.ts'
import {
  errorOf,
  type FailedJobs,
  type FailureGroup,
  failedJobs,
  failedOf,
  failureGroup,
  retryingJobs,
  retryingOf,
  targetOf,
} from './queries.ts'

/** One failure group: its error, how often it occurred, its jobs, and the actions on all of them. */
export function FailureGroupScreen({ fingerprint }: { readonly fingerprint: string }) {
  const { filter } = useFailureFilter()
  const [window, setWindow] = useState<WindowName>(filter.window)
  const group = useRead(failureGroup(fingerprint, window))
  const jobs = useRead(failedJobs(fingerprint))
  const retrying = useRead(retryingJobs(fingerprint)).data
  const [asked, setAsked] = useState<Action | null>(null)
  const lock = useLock()
  const failed = jobs.data
  const isNoneLeft = failed?.count === 0
  const isRetrying = retrying !== undefined && retrying.count > 0
  const [isMore, setMore] = useState(false)
  const hasBoth = !isNoneLeft && isRetrying
  // On a phone four buttons would take three rows: what is done most, and the rest behind More.
  const isShort = !useIsWide() && hasBoth
  const ask = (action: Action) => {
    setMore(false)
    setAsked(action)
  }
  const remove = (
    <Button
      label={hasBoth ? deleteLabel(failed) : 'Delete'}
      icon="remove"
      lock={lock}
      wide={hasBoth}
      onPress={() => ask('delete')}
    />
  )
  const cancel = isRetrying && (
    <Button
      label={
        retrying.count === 1
          ? 'Cancel retrying job'
          : `Cancel ${many(retrying.count, retrying.countIsExact)} retrying`
      }
      icon="cancel"
      lock={lock}
      wide={hasBoth}
      hint="Jobs that failed like this and will be retried automatically"
      onPress={() => ask('cancel')}
    />
  )
  // Those that are suspended until they repeat a step cannot be.
  const runnable = isRetrying ? Math.max(0, retrying.count - leftAloneOf('run_now', retrying.byStatus)) : 0
  const runNow = isRetrying && runnable > 0 && (
    <Button
      label={
        runnable === 1 ? 'Run retrying job now' : `Run ${many(runnable, retrying.countIsExact)} retrying now`
      }
      icon="runNow"
      variant={isNoneLeft ? 'primary' : 'secondary'}
      lock={lock}
      wide={isShort}
      hint="Jobs that failed like this, without waiting for their next try"
      onPress={() => ask('run_now')}
    />
  )
  useKeyboard({ r: () => lock === null && !isNoneLeft && setAsked('requeue') })

  return (
    <Page
      title={group.data ? errorOf(group.data).class : 'Failure'}
      parent="/failures"
      badge={group.data?.isNew && <Badge label="new" tone="warn" />}
      onRefresh={() => {
        void group.refetch()
        void jobs.refetch()
      }}
      bar={
        (!isNoneLeft || isRetrying) && (
          <ActionBar>
            {!isNoneLeft && (
              <Button
                label={retryLabel(failed)}
                icon="requeue"
                variant="primary"
                lock={lock}
                onPress={() => setAsked('requeue')}
              />
            )}
            {!isShort && runNow}
            {hasBoth ? (
              <Button label="More" icon="more" variant="quiet" onPress={() => setMore(true)} />
            ) : isRetrying ? (
              cancel
            ) : (
              remove
            )}
          </ActionBar>
        )
      }
    >
      <ReadState read={group}>
        {(shown) =>
          shown ? (
            <Shown {...{ group: shown, retrying, failed, window }} onWindow={setWindow} />
          ) : (
            <NoneLeft {...{ window }} onWindow={setWindow} />
          )
        }
      </ReadState>
      {retrying && <Jobs title="Retrying" found={retrying} filter={retryingOf(fingerprint)} />}
      {failed && <Jobs title="Gave up" found={failed} filter={failedOf(fingerprint)} />}
      {isMore && hasBoth && (
        <Sheet isOpen title="More" onClose={() => setMore(false)}>
          {isShort && runNow}
          {cancel}
          {remove}
        </Sheet>
      )}
      {asked && (
        <ConfirmSheet
          action={asked}
          filter={targetOf(asked, fingerprint)}
          scope={scopeOf(asked, group.data)}
          {...(!isOfRetrying(asked) && failed && { count: failed.count })}
          onClose={() => setAsked(null)}
        />
      )}
    </Page>
  )
}

function retryLabel(failed: FailedJobs | undefined): string {
  if (failed?.count === 1) return 'Retry 1 job'
  return failed ? `Retry these ${many(failed.count, failed.countIsExact)}` : 'Retry these'
}

function deleteLabel(failed: FailedJobs | undefined): string {
  if (failed?.count === 1) return 'Delete 1 failed job'
  return failed ? `Delete ${many(failed.count, failed.countIsExact)} failed` : 'Delete failed'
}

const isOfRetrying = (action: Action) => action === 'cancel' || action === 'run_now'

function scopeOf(action: Action, group: FailureGroup | null | undefined): string {
  const what = isOfRetrying(action) ? 'jobs that will be retried after' : 'failed jobs with'
  return group
    ? `${what} ${errorOf(group).class}, ${group.topics.map((topic) => `“${topic}”`).join(', ')}`
    : `${what} this error`
}

interface WindowProps {
  readonly window: WindowName
  readonly onWindow: (window: WindowName) => void
}

interface ShownProps extends WindowProps {
  readonly group: FailureGroup
  readonly retrying: FailedJobs | undefined
  readonly failed: FailedJobs | undefined
}

function Shown({ group, retrying, failed, window, onWindow }: ShownProps) {
  const { colors } = useTheme()
  const { sample, topics, queues, firstSeen, lastSeen, trend } = group
  return (
    <View style={styles.content}>
      <View style={styles.facts}>
        {group.retrying > 0 && (
          <Fact name="retrying" isNumber>
            {/* The number of the buttons: two reads may differ by one. */}
            {retrying && retrying.count > 0
              ? many(retrying.count, retrying.countIsExact)
              : many(group.retrying, group.retryingIsExact)}
          </Fact>
        )}
        {group.undoing > 0 && (
          <Fact name="undoing" isNumber>
            {number(group.undoing)}
          </Fact>
        )}
        {group.nextTryAt && (
          <Fact name="next try" isNumber>
            <Until to={group.nextTryAt} />
          </Fact>
        )}
        <Fact name={`gave up in ${WINDOWS[window].words}`} isNumber>
          {/* Never more than gave up at any time, which the buttons say: that may be read a moment later. */}
          {number(failed?.countIsExact ? Math.min(group.failed, failed.count) : group.failed)}
        </Fact>
        <Fact name="last seen" isNumber>
          <Ago from={lastSeen} />
        </Fact>
        <Fact name="first seen" isNumber>
          <Ago from={firstSeen} />
        </Fact>
      </View>
      <View style={styles.facts}>
        <Fact name={topics.length === 1 ? 'topic' : 'topics'}>{breakable(topics.join(', '))}</Fact>
        <Fact name={queues.length === 1 ? 'queue' : 'queues'}>{breakable(queues.join(', '))}</Fact>
      </View>
      {queues.length > 0 && queues.every((queue) => queue === ALERT_QUEUE) && <OwnJobs />}
      {sample.error ? (
        <ErrorView error={sample.error} />
      ) : (
        <Text color="textMuted">No error was stored with these jobs.</Text>
      )}
      <View style={[styles.card, { backgroundColor: colors.surfaceRaised, borderColor: colors.line }]}>
        <Segmented label="Time range" options={WINDOW_OPTIONS} value={window} onChange={onWindow} />
        <FailureChart trend={trend} ms={WINDOWS[window].ms} />
      </View>
    </View>
  )
}

/** Why there is nothing to do here: Oncue could not send an alert, and tries again by itself. */
function OwnJobs() {
  const router = useRouter()
  const open = () => router.push({ pathname: '/alerts', params: { view: 'channels' } })
  return (
    <Banner
      tone="neutral"
      icon="alerts"
      text="Alert delivery"
      detail="Oncue runs these jobs itself, and tries again by itself. Check the channel."
      action={<Button label="Channels" onPress={open} />}
    />
  )
}

function NoneLeft({ window, onWindow }: WindowProps) {
  return (
    <EmptyState
      title="No such failure"
      text={`No job is retrying after this error, and none that gave up in ${WINDOWS[window].words} is left. Retried, deleted and pruned jobs are not listed.`}
      {...(window !== '7d' && {
        action: { label: 'Show the last 7 days', onPress: () => onWindow('7d') },
      })}
    />
  )
}

interface FactProps {
  readonly name: string
  readonly children: React.ReactNode
  /** In a column, as numbers are. Names are as wide as they are. */
  readonly isNumber?: boolean
}

/** Two on a phone. */
const COLUMN = 155

function Fact({ name, children, isNumber = false }: FactProps) {
  const flexBasis = COLUMN * useFontScale()
  return (
    <View style={[styles.fact, isNumber && { flexBasis }]}>
      <Text variant="title">{children}</Text>
      <Text variant="small" color="textMuted">
        {name}
      </Text>
    </View>
  )
}

interface JobsProps {
  readonly title: string
  readonly found: FailedJobs
  readonly filter: JobFilter
}

/** The newest jobs, and a link to all. */
function Jobs({ title, found, filter }: JobsProps) {
  const router = useRouter()
  const open = useOpen('jobId')
  if (found.count === 0) return null
  const all = `All ${many(found.count, found.countIsExact)} jobs`
  return (
    <View style={styles.jobs}>
      <View style={styles.heading}>
        <Text variant="heading" level={2}>
          {title}
        </Text>
      </View>
      {found.sample.slice(0, 5).map(({ id, topic, queue }) => (
        <Row key={id} label={`Job ${id}, ${topic} in ${queue}`} onPress={() => open(id)}>
          <Text variant="label">
            {topic} <Text variant="code">{shortId(id)}</Text>
          </Text>
          <Text variant="small" color="textMuted">
            in {queue}
          </Text>
        </Row>
      ))}
      {found.count > 1 && (
        <Row label={all} onPress={() => router.push({ pathname: '/jobs', params: paramsOf(filter) })}>
          <Text variant="heading" color="accent">
            {all}
          </Text>
        </Row>
      )}
    </View>
  )
}

const styles = StyleSheet.create({
  content: { paddingHorizontal: space.l, gap: space.l },
  facts: { flexDirection: 'row', flexWrap: 'wrap', columnGap: space.xl, rowGap: space.m },
  fact: { gap: 2, maxWidth: '100%' },
  card: { borderWidth: 1, borderRadius: radius.l, padding: space.l, gap: space.m },
  jobs: { paddingTop: space.xl },
  heading: { paddingHorizontal: space.l, paddingBottom: space.s },
})
